import type { SessionOptions } from "./config";
import type { SessionStorage } from "./storage";

export interface SessionInfo {
  path: string;
}
export async function listSessions(_cwd: string, _sessionDir?: string, _storage?: SessionStorage, _options?: SessionOptions): Promise<SessionInfo[]> {
  return [];
}
export async function listAllSessions(_storage?: SessionStorage, _options?: SessionOptions): Promise<SessionInfo[]> {
  return [];
}
