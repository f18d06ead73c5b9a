import { translated } from "./errors";
import { deliverLog } from "./log";

/** Runs a call of the binding; what it throws becomes a {@link SessionError}. @internal */
export function call<T>(run: () => T): T {
  try {
    return run();
  } catch (thrown) {
    deliverLog();
    throw translated(thrown);
  }
}

/** Runs a call of the binding that gives a Promise. @internal */
export async function callAsync<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (thrown) {
    throw translated(thrown);
  } finally {
    deliverLog();
  }
}

/** Calls in the order in which they were made, each after the one before it has settled. @internal */
export class Queue {
  #last: Promise<void> | undefined;

  run<T>(run: () => Promise<T>): Promise<T> {
    const result = this.#last ? this.#last.then(() => callAsync(run)) : callAsync(run);
    const settled = result.then(ignore, ignore);
    this.#last = settled;
    void settled.then(() => {
      if (this.#last === settled) this.#last = undefined;
    });
    return result;
  }
}

function ignore(): void {}
