"""Where this store differs from the JavaScript reference on purpose.

Recording → reason → the numbers of the steps that differ for it (from 0, as in the recording's `ops`). The list is
exact: a step that differs and isn't here fails the run, and so does one that is here and doesn't differ.
"""

from __future__ import annotations

UNKNOWN_PARENT = "a parent that the session doesn't hold is an error, not a silent new root"
UNKNOWN_LEAF = "a leaf that the session doesn't hold is an error, not an empty history"
UNKNOWN_BRANCHES = "the branches of a message that the session doesn't hold are an error, not an empty list"
PARENT_FIRST = "a single import needs its parent to be there: nothing is left that hangs on a missing one"
OWN_PARENT = "a message can't be its own parent, so that no path goes in circles"
DELETED_ONLY = "a delete event names what was deleted, and there is none when nothing was"
READS_AS_WRITTEN = "what is written reads back equal: the reference adds or changes fields of inline media"
NOT_A_REFERENCE = "a string that looks like a reference is that string, and reaches no stored bytes"
DATE = "JSON has no dates: a datetime in a message is refused by its place, not turned into text in silence"
NO_PATH_CAP = "a path has no greatest length"
NO_DELETE_CAP = "one call may delete any number of messages, and what follows stays on the path"
CLEANED = "what a posted-back overlay is answered with is cleaned like any message, not the caller's own object"
RESERVED_KEPT = "a client's update keeps the reserved keys of the stored message"
BYTES_OF_JSON = "stored bytes are those of the message's JSON, media in place; the reference adds its pointer to them"
LINKED_IMAGE = "an image counts as one wherever its bytes are"

RANGE_CHECKED = "a compaction's range is two messages of one path, in order, and its summary isn't blank"
OVERLAY_AS_ANCHOR = "an overlay's id in a range stands for its first or last message, so that the compaction applies"
OUTLIVES_ANCHOR = "an overlay outlives the message that it starts or ends at"
RANDOM_IDS = "the ids of overlays are random, so that no imported message can have one beforehand"
IMPORTED_SHOWN = "an imported message is shown like any other, also under the id of an overlay of its session"
AS_READ = "the recent window counts overlays as read, and never shows covered messages"
TOLD = "a called compact() raises what the summariser raised"
OWN_START = "a compaction starts at an earlier overlay's start only where it covers that overlay"
CALL_AND_RESULTS = "a tool call stays together with all its results"

ESTIMATES = "token estimates count UTF-8 bytes, so that a threshold is passed earlier where texts aren't ASCII"

NO_NEGATIVE_LIMIT = "a search limit below 0 is refused: None means all"
NEWEST_FIRST = "equally good search results come newest first"
WORD_A_CHARACTER = "each Chinese character is a word, so that one alone is found, and counts as one in a text's length"
WORDS = "a query is words in any order, not one phrase"
PREFIX = "word* finds what begins with the word"
CURRENT_ROLE = "search shows the current role"

Steps = tuple[int, ...]

DIFFERENCES: dict[str, dict[str, Steps]] = {
    "append-extra-fields-roundtrip": {DATE: (0, 1, 2)},
    "append-parent-other-session": {UNKNOWN_PARENT: (2,)},
    "append-parent-self": {OWN_PARENT: (1,)},
    "append-parent-unknown": {UNKNOWN_PARENT: (2,)},
    "attach-batch-of-types": {BYTES_OF_JSON: (2,)},
    "attach-depth-limit": {READS_AS_WRITTEN: (4,)},
    "attach-image": {BYTES_OF_JSON: (3,)},
    "attach-import": {BYTES_OF_JSON: (2,)},
    "attach-nested-tool-output": {READS_AS_WRITTEN: (1,), BYTES_OF_JSON: (2,)},
    "attach-octet-stream-default": {READS_AS_WRITTEN: (1,)},
    "attach-pointer-unknown": {NOT_A_REFERENCE: (3, 5)},
    "attach-quirk-two-media-types": {READS_AS_WRITTEN: (2, 4)},
    "attach-undeclared-mediatype-added": {READS_AS_WRITTEN: (1, 3)},
    "attach-url-parameters": {READS_AS_WRITTEN: (1, 3)},
    "branch-deep-tree": {UNKNOWN_BRANCHES: (12,)},
    "branch-leafId-other-session": {UNKNOWN_LEAF: (2,), UNKNOWN_BRANCHES: (4,)},
    "branch-leafId-unknown-null-empty": {UNKNOWN_LEAF: (2, 3, 4, 5, 7)},
    "cap-10001": {NO_PATH_CAP: (4, 5)},
    "cap-quirk-delete-10001-adjacent": {NO_DELETE_CAP: (2,)},
    "compact-custom-bad-end": {RANGE_CHECKED: (5, 8, 10)},
    "compact-custom-overlay-end": {OVERLAY_AS_ANCHOR: (6, 7, 8)},
    "compact-quirk-oldest-overlay-start": {OWN_START: (15, 16, 17, 18, 19)},
    "compact-throwing": {TOLD: (9,)},
    "compact-tool-align-tail-user-role": {CALL_AND_RESULTS: (10, 11, 12)},
    "delete-everything": {UNKNOWN_BRANCHES: (8,)},
    "delete-unknown-and-empty": {DELETED_ONLY: (2, 3, 4, 6)},
    "fuzz-01": {
        WORD_A_CHARACTER: (66,),
        UNKNOWN_LEAF: (1,),
        DELETED_ONLY: (20, 28),
        OUTLIVES_ANCHOR: (34, 35, 46, 47),
        RANGE_CHECKED: (43, 52, 64),
        UNKNOWN_BRANCHES: (71, 72, 73),
    },
    "fuzz-02": {NEWEST_FIRST: (66,), DELETED_ONLY: (5, 13, 21, 44, 49), UNKNOWN_BRANCHES: (69, 71, 72)},
    "fuzz-03": {
        NEWEST_FIRST: (41,),
        WORDS: (67,),
        RANGE_CHECKED: (13, 20, 37, 54, 64),
        DELETED_ONLY: (25, 30, 31),
        UNKNOWN_PARENT: (56,),
        UNKNOWN_BRANCHES: (69, 70),
    },
    "fuzz-04": {
        DELETED_ONLY: (3, 19, 56),
        RANGE_CHECKED: (31,),
        UNKNOWN_PARENT: (39,),
        PARENT_FIRST: (55,),
        UNKNOWN_BRANCHES: (54, 68, 69, 70, 71, 72, 73),
    },
    "fuzz-05": {
        NEWEST_FIRST: (21,),
        WORDS: (67,),
        DELETED_ONLY: (2, 6, 9, 42, 52),
        UNKNOWN_PARENT: (13, 45),
        UNKNOWN_BRANCHES: (68, 69, 70, 71, 73),
    },
    "fuzz-07": {
        RANGE_CHECKED: (1, 28, 42, 45, 64),
        UNKNOWN_PARENT: (2, 15),
        DELETED_ONLY: (25, 30, 37, 43),
        UNKNOWN_BRANCHES: (68, 69, 70, 72, 73),
    },
    "fuzz-10": {
        UNKNOWN_LEAF: (1, 41),
        DELETED_ONLY: (25, 29, 38),
        UNKNOWN_PARENT: (26, 56),
        RANGE_CHECKED: (28, 64),
        UNKNOWN_BRANCHES: (68, 69, 70, 71, 72, 73),
    },
    "fuzz-13": {
        NEWEST_FIRST: (17, 56, 66),
        WORDS: (67,),
        DELETED_ONLY: (2, 32, 45),
        UNKNOWN_PARENT: (5,),
        UNKNOWN_BRANCHES: (70, 71, 72, 73),
    },
    "fuzz-14": {
        NEWEST_FIRST: (66,),
        WORDS: (67,),
        UNKNOWN_PARENT: (1, 27),
        DELETED_ONLY: (16, 21, 26, 49, 51, 57),
        RANGE_CHECKED: (25, 38, 64),
        UNKNOWN_BRANCHES: (68, 69, 70, 72, 73),
    },
    "fuzz-15": {
        WORDS: (67,),
        DELETED_ONLY: (4, 30, 31, 37, 38),
        UNKNOWN_PARENT: (16,),
        RANGE_CHECKED: (25, 28),
        ESTIMATES: (45, 46, 47, 50, 51, 53, 54, 55, 56, 57, 58, 59, 61, 62, 64),
        UNKNOWN_BRANCHES: (9, 68, 72, 73),
    },
    "fuzz-16": {
        NEWEST_FIRST: (66,),
        UNKNOWN_PARENT: (2, 19, 21, 28),
        RANGE_CHECKED: (30, 64),
        DELETED_ONLY: (38, 40, 45, 52),
        UNKNOWN_BRANCHES: (68, 69, 71, 72, 73),
    },
    "import-child-before-parent-leaf": {PARENT_FIRST: (0, 5)},
    "import-hidden-row-branches": {IMPORTED_SHOWN: (7, 8, 9)},
    "import-own-compaction-hidden": {IMPORTED_SHOWN: (6, 7, 8, 10, 11, 12, 14, 15)},
    "import-quirk-self-parent": {OWN_PARENT: (0, 1, 2)},
    "import-row-becomes-hidden-later": {RANDOM_IDS: (4, 5, 6, 7)},
    "import-unknown-parent": {PARENT_FIRST: (0, 4, 6)},
    "overlay-anchor-from-deleted": {OUTLIVES_ANCHOR: (8, 9)},
    "overlay-anchor-is-overlay-id": {OVERLAY_AS_ANCHOR: (6, 7)},
    "overlay-empty-summary": {RANGE_CHECKED: (2, 3)},
    "overlay-parent-is-overlay-id": {UNKNOWN_PARENT: (5,)},
    "overlay-post-back-unsanitised-result": {CLEANED: (0,)},
    "overlay-reversed": {RANGE_CHECKED: (4, 7)},
    "recent-attachments": {BYTES_OF_JSON: (3, 4, 5, 6)},
    "recent-overlay-cut": {AS_READ: (10,)},
    "sanitize-reserved-update": {RESERVED_KEPT: (1, 2)},
    "search-all-branches-and-covered": {NEWEST_FIRST: (5,)},
    "search-content-before-after-index": {NEWEST_FIRST: (3,)},
    "search-imported": {NEWEST_FIRST: (3,)},
    "search-limit": {NEWEST_FIRST: (25, 28), NO_NEGATIVE_LIMIT: (27,)},
    "search-operators": {PREFIX: (7,)},
    "search-phrase": {WORDS: (5, 6, 7, 8, 9)},
    "search-quirk-stale-role": {CURRENT_ROLE: (3,)},
    "stats-file-parts": {BYTES_OF_JSON: (8,), LINKED_IMAGE: (8,)},
}
