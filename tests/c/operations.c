#include "operations.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TEXTS 16

/* An argument as text; NULL with length 0 where it is absent or null. */
static XcshStr text_arg(const json_t *args, size_t at) {
    const json_t *arg = json_array_get(args, at);
    return (XcshStr){json_string_value(arg), json_string_length(arg)};
}

/* An argument as JSON text, kept in `held` for the caller to free. */
static XcshStr json_arg(const json_t *args, size_t at, char **held) {
    const json_t *arg = json_array_get(args, at);
    *held = !arg || json_is_null(arg) ? NULL : json_dumps(arg, JSON_COMPACT | JSON_ENCODE_ANY);
    return (XcshStr){*held, *held ? strlen(*held) : 0};
}

static uint32_t flag_arg(const json_t *args, size_t at) {
    const json_t *arg = json_array_get(args, at);
    return json_is_boolean(arg) ? (json_is_true(arg) ? XCSH_TRUE : XCSH_FALSE) : XCSH_ABSENT;
}

static size_t texts_arg(const json_t *args, size_t at, XcshStr *texts) {
    const json_t *list = json_array_get(args, at);
    size_t count = json_array_size(list);
    for (size_t i = 0; i < count && i < MAX_TEXTS; i++) {
        texts[i] = text_arg(list, i);
    }
    return count < MAX_TEXTS ? count : MAX_TEXTS;
}

static bool append(const XcshManager *manager, const char *op, const json_t *args, XcshString **id) {
    XcshError *err = NULL;
    XcshStr texts[MAX_TEXTS];
    XcshStr a = text_arg(args, 0), b = text_arg(args, 1), c = text_arg(args, 2);
    char *json = NULL, *more = NULL;
    XcshStr value;
    if (strcmp(op, "appendMessage") == 0) {
        value = json_arg(args, 0, &json);
        OK(xcsh_manager_append_message(manager, value.data, value.len, id, &err));
    } else if (strcmp(op, "appendThinkingLevelChange") == 0) {
        OK(xcsh_manager_append_thinking_level_change(manager, a.data, a.len, id, &err));
    } else if (strcmp(op, "appendModelChange") == 0) {
        OK(xcsh_manager_append_model_change(manager, a.data, a.len, b.data, b.len, id, &err));
    } else if (strcmp(op, "appendModeChange") == 0) {
        value = json_arg(args, 1, &json);
        OK(xcsh_manager_append_mode_change(manager, a.data, a.len, value.data, value.len, id, &err));
    } else if (strcmp(op, "appendServiceTierChange") == 0) {
        OK(xcsh_manager_append_service_tier_change(manager, a.data, a.len, id, &err));
    } else if (strcmp(op, "appendContextChange") == 0) {
        OK(xcsh_manager_append_context_change(manager, a.data, a.len, b.data, b.len, c.data, c.len, id, &err));
    } else if (strcmp(op, "appendMCPToolSelection") == 0) {
        OK(xcsh_manager_append_mcp_tool_selection(manager, texts, texts_arg(args, 0, texts), id, &err));
    } else if (strcmp(op, "appendTtsrInjection") == 0) {
        OK(xcsh_manager_append_ttsr_injection(manager, texts, texts_arg(args, 0, texts), id, &err));
    } else if (strcmp(op, "appendLabelChange") == 0) {
        OK(xcsh_manager_append_label_change(manager, a.data, a.len, b.data, b.len, id, &err));
    } else if (strcmp(op, "appendCustomEntry") == 0) {
        value = json_arg(args, 1, &json);
        OK(xcsh_manager_append_custom_entry(manager, a.data, a.len, value.data, value.len, id, &err));
    } else if (strcmp(op, "appendSessionInit") == 0) {
        const json_t *init = json_array_get(args, 0);
        const json_t *prompt = json_object_get(init, "systemPrompt"), *task = json_object_get(init, "task");
        json_t *tools = json_pack("[O]", json_object_get(init, "tools"));
        json_t *schema = json_pack("[o?]", json_incref(json_object_get(init, "outputSchema")));
        size_t count = texts_arg(tools, 0, texts);
        value = json_arg(schema, 0, &json);
        OK(xcsh_manager_append_session_init(manager, JSON_TEXT(prompt), JSON_TEXT(task), texts, count, value.data,
                                            value.len, id, &err));
        json_decref(tools);
        json_decref(schema);
    } else if (strcmp(op, "appendCustomMessageEntry") == 0) {
        XcshCustomMessage message = {0};
        message.custom_type = a;
        message.content = json_arg(args, 1, &json);
        message.display = json_is_true(json_array_get(args, 2));
        message.details = json_arg(args, 3, &more);
        message.attribution = text_arg(args, 4);
        OK(xcsh_manager_append_custom_message_entry(manager, &message, id, &err));
    } else if (strcmp(op, "appendCompaction") == 0) {
        XcshCompaction compaction = {0};
        compaction.summary = a;
        compaction.short_summary = b;
        compaction.first_kept_entry_id = c;
        compaction.tokens_before = (uint64_t)json_integer_value(json_array_get(args, 3));
        compaction.details = json_arg(args, 4, &json);
        compaction.from_extension = flag_arg(args, 5);
        compaction.preserve_data = json_arg(args, 6, &more);
        OK(xcsh_manager_append_compaction(manager, &compaction, id, &err));
    } else if (strcmp(op, "branchWithSummary") == 0) {
        value = json_arg(args, 2, &json);
        OK(xcsh_manager_branch_with_summary(manager, a.data, a.len, b.data, b.len, value.data, value.len,
                                            flag_arg(args, 3), id, &err));
    } else {
        return false;
    }
    free(json);
    free(more);
    return true;
}

json_t *run_operation(const XcshManager *manager, const char *op, const json_t *args) {
    XcshError *err = NULL;
    XcshString *id = NULL;
    XcshStr a = text_arg(args, 0), b = text_arg(args, 1);
    if (append(manager, op, args, &id)) {
        json_t *returned = json_stringn(xcsh_string_data(id), xcsh_string_len(id));
        xcsh_string_free(id);
        return returned;
    }
    if (strcmp(op, "setSessionName") == 0) {
        bool taken = false;
        uint32_t source = strcmp(b.data, "user") == 0 ? XCSH_TITLE_USER : XCSH_TITLE_AUTO;
        OK(xcsh_manager_set_session_name(manager, a.data, a.len, source, &taken, &err));
        return json_boolean(taken);
    }
    if (strcmp(op, "branch") == 0) {
        OK(xcsh_manager_branch(manager, a.data, a.len, &err));
    } else if (strcmp(op, "resetLeaf") == 0) {
        OK(xcsh_manager_reset_leaf(manager, &err));
    } else if (strcmp(op, "flush") == 0) {
        OK(xcsh_manager_flush(manager, &err));
    } else if (strcmp(op, "ensureOnDisk") == 0) {
        OK(xcsh_manager_ensure_on_disk(manager, &err));
    } else if (strcmp(op, "fork") == 0) {
        OK(xcsh_manager_fork(manager, NULL, NULL, &err));
    } else if (strcmp(op, "createBranchedSession") == 0) {
        OK(xcsh_manager_create_branched_session(manager, a.data, a.len, NULL, &err));
    } else {
        fail("unknown operation %s", op);
    }
    return json_null();
}
