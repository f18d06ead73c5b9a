"""The shapes of entries and messages, which are plain dicts.

The unions :data:`Entry` and :data:`Message` are told apart by ``type`` and ``role``, so a type checker knows the
fields after ``if entry["type"] == "message"``. Sessions may hold entries and messages of other types, with any
fields: they are handed out like all others, so leave room for them.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

__all__ = [
    "AssistantMessage",
    "BashExecutionMessage",
    "BranchSummaryEntry",
    "BranchSummaryMessage",
    "CompactionEntry",
    "CompactionSummaryMessage",
    "ContentBlock",
    "ContextChangeEntry",
    "CustomEntry",
    "CustomMessage",
    "CustomMessageEntry",
    "Diagnostics",
    "Entry",
    "EntryBase",
    "Finding",
    "ImageBlock",
    "LabelEntry",
    "MalformedLine",
    "McpToolSelectionEntry",
    "Message",
    "MessageEntry",
    "ModeChangeEntry",
    "ModelChangeEntry",
    "ServiceTierChangeEntry",
    "SessionContext",
    "SessionHeader",
    "SessionInitEntry",
    "TextBlock",
    "ThinkingBlock",
    "ThinkingLevelChangeEntry",
    "ToolCallBlock",
    "ToolResultMessage",
    "TreeNode",
    "TtsrInjectionEntry",
    "Usage",
    "UsageCost",
    "UsageStatistics",
    "UserMessage",
]


class SessionHeader(TypedDict):
    """The first record of a session."""

    type: Literal["session"]
    id: str
    version: NotRequired[int]
    timestamp: NotRequired[str]
    cwd: NotRequired[str]
    title: NotRequired[str]
    titleSource: NotRequired[Literal["auto", "user"]]
    parentSession: NotRequired[str]


class TextBlock(TypedDict):
    """Text in a message."""

    type: Literal["text"]
    text: str
    textSignature: NotRequired[str]


class ThinkingBlock(TypedDict):
    """Thoughts of the model."""

    type: Literal["thinking"]
    thinking: str
    thinkingSignature: NotRequired[str]
    redacted: NotRequired[bool]


class ImageBlock(TypedDict):
    """An image, base64 in ``data``."""

    type: Literal["image"]
    data: str
    mimeType: str


class ToolCallBlock(TypedDict):
    """A call of a tool."""

    type: Literal["toolCall"]
    id: str
    name: str
    arguments: dict[str, Any]
    thoughtSignature: NotRequired[str]


ContentBlock: TypeAlias = TextBlock | ThinkingBlock | ImageBlock | ToolCallBlock
"""A block of a message, told apart by ``type``."""


class UsageCost(TypedDict, total=False):
    """What a message cost."""

    input: float
    output: float
    cacheRead: float
    cacheWrite: float
    total: float


class Usage(TypedDict, total=False):
    """Tokens and cost of an assistant message."""

    input: int
    output: int
    cacheRead: int
    cacheWrite: int
    totalTokens: int
    premiumRequests: float
    cost: UsageCost


class UserMessage(TypedDict):
    """What the user said."""

    role: Literal["user"]
    content: str | list[TextBlock | ImageBlock]
    timestamp: NotRequired[int]


class AssistantMessage(TypedDict):
    """What the model answered."""

    role: Literal["assistant"]
    content: list[TextBlock | ThinkingBlock | ToolCallBlock]
    api: NotRequired[str]
    provider: NotRequired[str]
    model: NotRequired[str]
    usage: NotRequired[Usage]
    stopReason: NotRequired[str]
    errorMessage: NotRequired[str]
    responseId: NotRequired[str]
    timestamp: NotRequired[int]


class ToolResultMessage(TypedDict):
    """What a tool returned."""

    role: Literal["toolResult"]
    toolCallId: str
    toolName: str
    content: list[TextBlock | ImageBlock]
    isError: bool
    details: NotRequired[Any]
    timestamp: NotRequired[int]


class BashExecutionMessage(TypedDict):
    """A command that the user ran."""

    role: Literal["bashExecution"]
    command: str
    output: str
    exitCode: NotRequired[int | None]
    cancelled: bool
    truncated: bool
    fullOutputPath: NotRequired[str]
    timestamp: NotRequired[int]


class CustomMessage(TypedDict):
    """A message of an extension."""

    role: Literal["custom"]
    customType: str
    content: str | list[TextBlock | ImageBlock]
    display: bool
    details: NotRequired[Any]
    attribution: NotRequired[str]
    timestamp: int | None


class BranchSummaryMessage(TypedDict):
    """What happened on a branch that was left."""

    role: Literal["branchSummary"]
    summary: str
    fromId: str
    timestamp: int | None


class CompactionSummaryMessage(TypedDict):
    """What stands for the messages before a compaction."""

    role: Literal["compactionSummary"]
    summary: str
    shortSummary: NotRequired[str]
    tokensBefore: int
    providerPayload: NotRequired[dict[str, Any]]
    timestamp: int | None


Message: TypeAlias = (
    UserMessage
    | AssistantMessage
    | ToolResultMessage
    | BashExecutionMessage
    | CustomMessage
    | BranchSummaryMessage
    | CompactionSummaryMessage
)
"""A message, told apart by ``role``."""


class EntryBase(TypedDict):
    """What every entry has. Damaged sessions may hold entries without ``id``."""

    id: str
    parentId: str | None
    timestamp: str


class MessageEntry(EntryBase):
    """A message."""

    type: Literal["message"]
    message: Message


class ThinkingLevelChangeEntry(EntryBase):
    """Another thinking level; None unsets it."""

    type: Literal["thinking_level_change"]
    thinkingLevel: str | None


class ModelChangeEntry(EntryBase):
    """Another model, ``provider/modelId``."""

    type: Literal["model_change"]
    model: str
    role: NotRequired[str]


class CompactionEntry(EntryBase):
    """From here on a summary stands for what came before ``firstKeptEntryId``."""

    type: Literal["compaction"]
    summary: str
    shortSummary: NotRequired[str]
    firstKeptEntryId: NotRequired[str]
    tokensBefore: int
    details: NotRequired[Any]
    fromExtension: NotRequired[bool]
    preserveData: NotRequired[dict[str, Any]]


class BranchSummaryEntry(EntryBase):
    """A summary of a branch that was left at ``fromId`` (``"root"`` where that was no entry)."""

    type: Literal["branch_summary"]
    fromId: str
    summary: str
    details: NotRequired[Any]
    fromExtension: NotRequired[bool]


class CustomEntry(EntryBase):
    """State of an extension, not part of the context."""

    type: Literal["custom"]
    customType: str
    data: NotRequired[Any]


class CustomMessageEntry(EntryBase):
    """A message of an extension, part of the context."""

    type: Literal["custom_message"]
    customType: str
    content: str | list[TextBlock | ImageBlock]
    display: bool
    details: NotRequired[Any]
    attribution: NotRequired[str]


class LabelEntry(EntryBase):
    """A label on an entry; an absent or empty one clears it."""

    type: Literal["label"]
    targetId: str
    label: NotRequired[str]


class TtsrInjectionEntry(EntryBase):
    """Rules that were injected."""

    type: Literal["ttsr_injection"]
    injectedRules: list[str]


class SessionInitEntry(EntryBase):
    """What a session was started with."""

    type: Literal["session_init"]
    systemPrompt: str
    task: str
    tools: list[str]
    outputSchema: NotRequired[Any]


class ModeChangeEntry(EntryBase):
    """Another mode."""

    type: Literal["mode_change"]
    mode: str
    data: NotRequired[dict[str, Any]]


class ServiceTierChangeEntry(EntryBase):
    """Another service tier; None unsets it."""

    type: Literal["service_tier_change"]
    serviceTier: str | None


class ContextChangeEntry(EntryBase):
    """Another active context."""

    type: Literal["context_change"]
    contextName: str
    tenant: str
    namespace: str


class McpToolSelectionEntry(EntryBase):
    """The MCP tools that are on."""

    type: Literal["mcp_tool_selection"]
    selectedToolNames: list[str]


Entry: TypeAlias = (
    MessageEntry
    | ThinkingLevelChangeEntry
    | ModelChangeEntry
    | CompactionEntry
    | BranchSummaryEntry
    | CustomEntry
    | CustomMessageEntry
    | LabelEntry
    | TtsrInjectionEntry
    | SessionInitEntry
    | ModeChangeEntry
    | ServiceTierChangeEntry
    | ContextChangeEntry
    | McpToolSelectionEntry
)
"""An entry, told apart by ``type``."""


class SessionContext(TypedDict):
    """What goes to the model."""

    messages: list[Message]
    thinkingLevel: str
    serviceTier: NotRequired[str]
    models: dict[str, str]
    activeContextName: NotRequired[str]
    activeContextTenant: NotRequired[str]
    injectedTtsrRules: list[str]
    selectedMCPToolNames: list[str]
    hasPersistedMCPToolSelection: bool
    mode: str
    modeData: NotRequired[dict[str, Any]]


class TreeNode(TypedDict):
    """An entry and what follows it."""

    entry: Entry
    children: list[TreeNode]
    label: NotRequired[str]


class UsageStatistics(TypedDict):
    """Token and cost sums of a session."""

    input: float
    output: float
    cacheRead: float
    cacheWrite: float
    premiumRequests: float
    cost: float


class MalformedLine(TypedDict):
    """A stretch of a file that is no record."""

    line: int
    offset: int
    length: int
    reason: str


class Finding(TypedDict):
    """An entry about which there is something to say."""

    line: int
    id: str | None
    target: NotRequired[str]


class Diagnostics(TypedDict):
    """What is not as it should be in a session."""

    malformedLines: list[MalformedLine]
    recovered: list[Finding]
    orphans: list[Finding]
    cycles: list[Finding]
    duplicateIds: list[Finding]
    withoutId: list[Finding]
    badBlobRefs: list[Finding]
    missingBlobs: list[Finding]
    damagedBlobs: list[Finding]
    danglingFirstKept: list[Finding]
