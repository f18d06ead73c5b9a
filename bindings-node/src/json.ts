/** The JSON text of an entry. Unlike JSON.stringify it takes any depth, since sessions of any depth can be loaded. @internal */
export function entryText(entry: object): string {
  try {
    return JSON.stringify(entry);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return deepText(entry);
  }
}

type Work = string | { leave: object } | { value: unknown };

/** What JSON.stringify gives, without recursion. */
function deepText(root: object): string {
  const out: string[] = [];
  const within = new Set<object>();
  const todo: Work[] = [{ value: said("", root) }];
  for (let work = todo.pop(); work !== undefined; work = todo.pop()) {
    if (typeof work === "string") {
      out.push(work);
    } else if ("leave" in work) {
      within.delete(work.leave);
    } else if (isContainer(work.value)) {
      const { value } = work;
      if (within.has(value)) throw new TypeError("Converting circular structure to JSON");
      within.add(value);
      const list = Array.isArray(value);
      out.push(list ? "[" : "{");
      todo.push({ leave: value }, list ? "]" : "}", ...(list ? items(value) : members(value)).reverse());
    } else {
      out.push(JSON.stringify(work.value) ?? "null");
    }
  }
  return out.join("");
}

function isContainer(value: unknown): value is object {
  const boxed = value instanceof Number || value instanceof String || value instanceof Boolean;
  return typeof value === "object" && value !== null && !boxed;
}

function items(list: unknown[]): Work[] {
  const work: Work[] = [];
  for (let place = 0; place < list.length; place++) {
    if (place > 0) work.push(",");
    work.push({ value: said(`${place}`, list[place]) });
  }
  return work;
}

function members(object: object): Work[] {
  const work: Work[] = [];
  for (const [name, member] of Object.entries(object)) {
    const value = said(name, member);
    if (value === undefined || typeof value === "function" || typeof value === "symbol") continue;
    work.push(`${work.length > 0 ? "," : ""}${JSON.stringify(name)}:`, { value });
  }
  return work;
}

function said(name: string, value: any): unknown {
  return typeof value?.toJSON === "function" ? value.toJSON(name) : value;
}
