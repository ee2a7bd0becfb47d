"""A conversation into its session.

Storing the same conversation again writes nothing: known messages are left as they are, metadata that is already there
isn't set again, and the shown branch is selected only when something was added. A later export of it adds what is new
and brings its title up to date. All of one conversation is stored in one transaction, or nothing of it.
"""

from __future__ import annotations

from eventstore.exchange.conversation import Conversation
from eventstore.sessions import Sessions
from eventstore.types import ImportReport, Progress


def store(sessions: Sessions, conversation: Conversation, progress: Progress | None = None) -> ImportReport:
    """Writes `conversation` into the session that it names, and says what was stored, known and left out.

    A conversation without rows creates no session. Metadata of the session's own stays beside the export's, which win
    where both have a key. `progress` counts what is new. Raises what `import_messages` raises; nothing of the
    conversation is stored then.
    """
    if not conversation.rows:
        return ImportReport(imported=0, known=0, skipped=conversation.skipped)
    session = sessions.session(conversation.session_id)
    with sessions.transaction():
        # Looked up all at once: an import that finds nothing new should cost little more than reading the file.
        held = {info.id for info in session.tree()}
        new = [row for row in conversation.rows if row.message["id"] not in held]
        report = session.import_messages(new, progress=progress)
        session.set_metadata(session.get_metadata() | conversation.metadata)  # an equal one writes nothing
        if report.imported and conversation.current is not None:
            session.select_leaf(conversation.current)
    known = len(conversation.rows) - report.imported
    return ImportReport(imported=report.imported, known=known, skipped=report.skipped + conversation.skipped)
