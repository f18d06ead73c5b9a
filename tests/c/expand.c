#include "expand.h"

#include <stdlib.h>
#include <string.h>

static json_t *repeated(const json_t *spec) {
    const json_t *part = json_array_get(spec, 0);
    size_t count = (size_t)json_integer_value(json_array_get(spec, 1)), len = json_string_length(part);
    char *text = malloc(count * len + 1);
    for (size_t i = 0; i < count; i++) {
        memcpy(text + i * len, json_string_value(part), len);
    }
    json_t *string = json_stringn(text, count * len);
    free(text);
    return string;
}

static json_t *base64(size_t count) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc(count / 3 * 4 + 5);
    size_t len = 0;
    for (size_t i = 0; i < count; i += 3) {
        unsigned long bits = 0;
        for (size_t j = i; j < i + 3; j++) {
            bits = bits << 8 | (j < count ? (7 * j + count) % 256 : 0);
        }
        for (size_t j = 0; j < 4; j++) {
            text[len++] = i + j > count ? '=' : digits[bits >> (18 - 6 * j) & 63];
        }
    }
    json_t *string = json_stringn(text, len);
    free(text);
    return string;
}

static json_t *concatenated(const json_t *parts, const json_t *returned) {
    char *text = NULL;
    size_t len = 0, i;
    json_t *item;
    json_array_foreach(parts, i, item) {
        json_t *part = expand(item, returned);
        text = realloc(text, len + json_string_length(part) + 1);
        memcpy(text + len, json_string_value(part), json_string_length(part));
        len += json_string_length(part);
        json_decref(part);
    }
    json_t *string = json_stringn(text ? text : "", len);
    free(text);
    return string;
}

json_t *expand(const json_t *value, const json_t *returned) {
    json_t *item, *all;
    const char *key;
    char *end;
    size_t i;
    switch (json_typeof(value)) {
    case JSON_STRING: {
        const char *text = json_string_value(value);
        size_t op = text[0] == '$' && text[1] != '\0' ? strtoul(text + 1, &end, 10) : 0;
        if (text[0] == '$' && text[1] != '\0' && *end == '\0') {
            return json_incref(json_array_get(returned, op));
        }
        return json_copy((json_t *)value);
    }
    case JSON_ARRAY:
        all = json_array();
        json_array_foreach(value, i, item) {
            json_array_append_new(all, expand(item, returned));
        }
        return all;
    case JSON_OBJECT:
        if ((item = json_object_get(value, "$repeat"))) {
            return repeated(item);
        }
        if ((item = json_object_get(value, "$base64"))) {
            return base64((size_t)json_integer_value(item));
        }
        if ((item = json_object_get(value, "$concat"))) {
            return concatenated(item, returned);
        }
        all = json_object();
        json_object_foreach((json_t *)value, key, item) {
            json_object_set_new(all, key, expand(item, returned));
        }
        return all;
    default:
        return json_copy((json_t *)value);
    }
}

static size_t utf16_len(const json_t *string) {
    const char *text = json_string_value(string);
    size_t units = 0;
    for (size_t i = 0; i < json_string_length(string); i++) {
        unsigned char byte = (unsigned char)text[i];
        units += ((byte & 0xC0) != 0x80) + (byte >= 0xF0);
    }
    return units;
}

/* A blob is named by the hash of its bytes. */
static json_t *hashed(const json_t *string, const XcshBlobs *hasher) {
    XcshError *err = NULL;
    XcshString *hash = NULL;
    OK(xcsh_blobs_put(hasher, (const uint8_t *)json_string_value(string), json_string_length(string), &hash, &err));
    char *text = take_text(hash);
    json_t *shown = json_pack("{s:I, s:s}", "$utf16", (json_int_t)utf16_len(string), "$sha256", text);
    free(text);
    return shown;
}

json_t *show(const json_t *value, const json_t *ids, const XcshBlobs *hasher) {
    json_t *item, *all;
    const char *key;
    size_t i;
    switch (json_typeof(value)) {
    case JSON_STRING:
        if (utf16_len(value) > 2000) {
            return hashed(value, hasher);
        }
        item = json_object_getn(ids, JSON_TEXT(value));
        return item ? json_incref(item) : json_copy((json_t *)value);
    case JSON_ARRAY:
        all = json_array();
        json_array_foreach(value, i, item) {
            json_array_append_new(all, show(item, ids, hasher));
        }
        return all;
    case JSON_OBJECT:
        all = json_object();
        json_object_foreach((json_t *)value, key, item) {
            json_object_set_new(all, key, show(item, ids, hasher));
        }
        return all;
    default:
        return json_copy((json_t *)value);
    }
}
