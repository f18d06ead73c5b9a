import native = require("./native");

/** Where warnings and errors of the library go. What it throws itself is ignored. */
export interface Logger {
  warn(message: string): void;
  error(message: string): void;
}

const toConsole: Logger = { warn: message => console.warn(message), error: message => console.error(message) };
let logger: Logger = toConsole;

/** @internal */
export function setLogger(next: Logger | undefined): void {
  logger = next ?? toConsole;
}

/** @internal */
export function log(level: keyof Logger, message: string): void {
  try {
    logger[level](message);
  } catch {
    // A logger cannot make an operation fail that has already succeeded or has an error of its own.
  }
}

/** Hands over what the core has logged since the last time. @internal */
export function deliverLog(): void {
  const messages = native.takeLog();
  if (messages === null) return;
  for (const message of messages) {
    const level = message.startsWith("error ") ? "error" : "warn";
    log(level, message.slice(level.length + 1));
  }
}

native.keepLog();
