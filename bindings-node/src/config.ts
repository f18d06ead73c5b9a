import native = require("./native");
import { setLogger, type Logger } from "./log";
import { SessionError } from "./errors";

/** Whose defaults count: those of the document, or those of today's agent. */
export type Profile = "document" | "agent";

/** Sets what counts for the whole process: `profile` for sessions that are opened from now on, `logger` for this thread. */
export function configure(settings: { profile?: Profile; logger?: Logger }): void {
  if (settings.profile !== undefined) native.setAgentProfile(isAgent(settings.profile));
  if ("logger" in settings) setLogger(settings.logger);
}

function isAgent(profile: Profile): boolean {
  if (profile !== "agent" && profile !== "document") {
    throw new SessionError("InvalidArgument", `a profile is "document" or "agent", not ${JSON.stringify(profile)}`);
  }
  return profile === "agent";
}

/** What can be asked of one session beyond what the agent asks. */
export interface SessionOptions {
  /** Instead of the one that the environment names. */
  agentDir?: string;
  /** Instead of what {@link configure} set. */
  profile?: Profile;
  /** Nothing is ever written. */
  readOnly?: boolean;
  /** What becomes of a file that is no session: moved aside (the default), or an error. */
  onInvalid?: "moveAside" | "refuse";
  /** How long a write waits for another writer, 5,000 by default. */
  lockWaitMs?: number;
}

const names = native.environmentNames();

/** Options for the binding; the environment is the one of this moment. @internal */
export function callOptions(options: SessionOptions = {}, sessionDir?: string): native.CallOptions {
  const env: string[] = [];
  for (const name of names) {
    const value = process.env[name];
    if (value !== undefined) env.push(name, value);
  }
  return {
    env,
    sessionDir: sessionDir || undefined,
    agentDir: options.agentDir,
    agentProfile: options.profile === undefined ? undefined : isAgent(options.profile),
    readOnly: options.readOnly,
    refuseInvalid: options.onInvalid === "refuse",
    lockWaitMs: options.lockWaitMs,
  };
}
