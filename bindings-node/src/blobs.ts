import native = require("./native");
import { callAsync } from "./calls";
import { FileSessionStorage, nativeStorage, type SessionStorage } from "./storage";

/** What a stored blob is called and where it is. */
export interface BlobPutResult {
  /** 64 lower-case hex digits. */
  hash: string;
  path: string;
  /** `blob:sha256:<hash>`. */
  ref: string;
}

/** A directory of contents, each in a file that is named by the hash of its bytes. */
export class BlobStore {
  readonly #blobs: native.NativeBlobStore;

  constructor(
    /** The directory, made when the first blob is put there. */
    readonly dir: string,
    storage: SessionStorage = new FileSessionStorage(),
  ) {
    this.#blobs = new native.NativeBlobStore(dir, nativeStorage(storage)!);
  }

  /** Stores bytes; they survive a power loss when this resolves. */
  async put(data: Uint8Array): Promise<BlobPutResult> {
    const hash = await callAsync(() => this.#blobs.put(data));
    return { hash, path: this.#blobs.path(hash)!, ref: `blob:sha256:${hash}` };
  }

  /** The bytes; null where there is no such blob. Bytes that do not have the hash are an error (`Blob`). */
  get(hash: string): Promise<Buffer | null> {
    return callAsync(() => this.#blobs.get(hash));
  }

  /** Whether there is such a blob. */
  has(hash: string): Promise<boolean> {
    return callAsync(() => this.#blobs.has(hash));
  }
}
