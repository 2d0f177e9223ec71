/* What the page Users gets. Names are as Weir has them: the page escapes them. There are no secrets. */

export const USER_COLUMNS = [
  'user',
  'inbound',
  'sessions',
  'sources',
  'flows',
  'rate',
  'bytes',
] as const;
export type UserColumn = (typeof USER_COLUMNS)[number];

/** The parameters of the topic `users`. */
export type UsersParameters = {
  /** In the name or the inbound, in any case. */
  readonly text?: string;
  readonly sort?: UserColumn;
  readonly descending?: boolean;
  readonly first?: number;
};

/** The topic `users`. */
export type UsersView = {
  readonly first: number;
  readonly total: number;
  readonly rows: readonly UserRow[];
  /** Users that the file has, with or without a label; `null` where it is not readable. */
  readonly inFile: number | null;
  /** Why the users of the file are not shown; `null` if they are. */
  readonly fileProblem: string | null;
  /** Absolute path; `null` for the built-in configuration, and where it is not known. */
  readonly file: string | null;
  /** Why who is connected is not known, so that rows have no numbers; `null` if it is. */
  readonly unlisted: 'no-api' | 'lost' | 'connecting' | null;
  /** Since when bytes are counted; `null` before the first list of flows. */
  readonly since: number | null;
  /** Bytes that belong to no flow that was seen, so to no user. */
  readonly unattributed: number;
  readonly missed: number;
  /** Why users can be neither added nor removed; `null` if they can. */
  readonly noEdit: string | null;
  /** Tags of inbounds whose protocol has users. */
  readonly inbounds: readonly string[];
};

export type UserRow = {
  readonly id: string;
  readonly inbound: string;
  /** The label of its flows. */
  readonly user: string | null;
  /** Names in the file; with a label it is the one user, without one all that share the row. */
  readonly names: readonly string[];
  /** More names. */
  readonly moreNames: number;
  readonly isInFile: boolean;
  readonly sessions: number;
  /** Different addresses of clients; the first few. */
  readonly sources: readonly string[];
  readonly sourceCount: number;
  readonly flows: number;
  readonly rate: number;
  readonly bytes: number;
};

/** The parameters of `user-remove-preview`. */
export type UserRemoval = {
  readonly inbound: string;
  readonly name: string;
  /** Also where others could log in then. */
  readonly force: boolean;
};

/** The parameters of `user-remove`. */
export type ClosingRemoval = UserRemoval & {
  /** Closes the open flows of the user. */
  readonly close: boolean;
  /** That of the preview. */
  readonly etag: string;
};

/** The result of `user-remove-preview`. */
export type RemovalPreview = {
  /** For `user-remove`: the contents that this is about. */
  readonly etag: string;
  readonly file: string;
  /** Where the user begins. */
  readonly line: number;
  readonly protocol: string;
  /** As the file has it: a name, the start of an id, or `#` and a number. */
  readonly name: string;
  /** Open flows; `null` if they can be counted only after the removal. */
  readonly flows: number | null;
  readonly notes: readonly string[];
  /** The same as command lines: the removal alone, and with the closing of flows. */
  readonly commands: { readonly remove: string; readonly close: string };
};

/** The result of `user-remove`. */
export type RemovalDone = {
  /** What the reload has done; `null` if no running Weir serves the file. */
  readonly reload: string | null;
  /** Flows that were closed; `null` if they were not to be. */
  readonly closed: number | null;
};

/** The parameters of `user-add-preview`. */
export type UserAddition = {
  readonly inbound: string;
  readonly name: string;
  /** Also where clients that are there could not log in any more. */
  readonly force: boolean;
};

/** The result of `user-add-preview`. */
export type AdditionPreview = {
  /** For `user-add`, besides the parameters of the preview: the contents that this is about. */
  readonly etag: string;
  readonly file: string;
  readonly protocol: string;
  readonly notes: readonly string[];
  /** The same as a command line. */
  readonly command: string;
};

/** The result of `user-add`. The secret of the user is in the file alone. */
export type AdditionDone = {
  /** What the reload has done; `null` if no running Weir serves the file. */
  readonly reload: string | null;
  /** Prints the link of the user, which has its secret. */
  readonly share: string;
};
