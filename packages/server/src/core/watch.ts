export type FileEventType = "created" | "changed" | "deleted" | "moved" | "overflow";

/** Change of a file or folder, as the host saw it. Several changes in a short time are one event. */
export interface FileEvent {
  /** `overflow`: more happened than is told, so look again; its path is empty. */
  type: FileEventType;
  /** Relative to the folder that is watched. Bytes that are not UTF-8 appear as U+FFFD. */
  path: string;
  /** Former path, for `moved`. The contents of a folder move with it without events of their own. */
  from?: string;
}

export interface WatchOptions {
  /** Folders below too; otherwise only what lies in the folder itself. True unless given. */
  recursive?: boolean;
}

/** Ends with the sandbox, or when it is left or disposed of. One that nobody reads costs no memory: it tells less often. */
export interface FileWatch extends AsyncIterable<FileEvent>, AsyncDisposable {}
