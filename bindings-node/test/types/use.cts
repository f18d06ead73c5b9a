// The CommonJS face has the same types.
import session = require("@xcsh/session");

export const open: (path: string) => Promise<session.SessionManager> = session.SessionManager.open;
export const entries: session.FileEntry[] = session.parseSessionEntries("");
