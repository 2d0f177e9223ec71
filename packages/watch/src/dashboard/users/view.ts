/* Views for the page Users. Names are as Weir has them: the page escapes them. There are no secrets. */

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
  /** Text in the name or the inbound, in any case. */
  readonly text?: string;
  readonly sort?: UserColumn;
  readonly descending?: boolean;
  readonly first?: number;
};

/** The value of the topic `users`. */
export type UsersView = {
  readonly first: number;
  readonly total: number;
  readonly rows: readonly UserRow[];
  /** Number of users in the file, with or without a label; `null` where it is not readable. */
  readonly inFile: number | null;
  /** Why the users of the file are not shown; `null` if they are. */
  readonly fileProblem: string | null;
  /** Absolute path; `null` for the built-in configuration, and where it is not known. */
  readonly file: string | null;
  /** Why the connected users are not known, so that rows have no numbers; `null` if they are. */
  readonly unlisted: 'no-api' | 'lost' | 'connecting' | null;
  /** When counting bytes began; `null` before the first list of flows. */
  readonly since: number | null;
  /** Bytes of flows that were not seen, and so belong to no user. */
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
  /** The label of the user's flows. */
  readonly user: string | null;
  /** Names in the file: with a label the one user, without a label all users that share the row. */
  readonly names: readonly string[];
  /** Number of further names. */
  readonly moreNames: number;
  readonly isInFile: boolean;
  readonly sessions: number;
  /** Distinct addresses of clients; the first few. */
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
  /** Whether to remove the user even if others could then log in. */
  readonly force: boolean;
};

/** The parameters of `user-remove`. */
export type ClosingRemoval = UserRemoval & {
  /** Whether to close the open flows of the user. */
  readonly close: boolean;
  /** The entity tag of the preview. */
  readonly etag: string;
};

/** The result of `user-remove-preview`. */
export type RemovalPreview = {
  /** Entity tag of the previewed file, for `user-remove`. */
  readonly etag: string;
  readonly file: string;
  /** The line at which the user begins. */
  readonly line: number;
  readonly protocol: string;
  /** The user as in the file: a name, the start of an id, or `#` and a number. */
  readonly name: string;
  /** Number of open flows; `null` if they can be counted only after the removal. */
  readonly flows: number | null;
  readonly notes: readonly string[];
  /** The equivalent command lines: the removal alone, and with closing the flows. */
  readonly commands: { readonly remove: string; readonly close: string };
};

/** The result of `user-remove`. */
export type RemovalDone = {
  /** Outcome of the reload; `null` if no running Weir serves the file. */
  readonly reload: string | null;
  /** Number of flows that were closed; `null` if closing was not requested. */
  readonly closed: number | null;
};

/** The parameters of `user-add-preview`. */
export type UserAddition = {
  readonly inbound: string;
  readonly name: string;
  /** Whether to add the user even if existing clients could then no longer log in. */
  readonly force: boolean;
};

/** The result of `user-add-preview`. */
export type AdditionPreview = {
  /** Entity tag of the previewed file, for `user-add` besides the parameters of the preview. */
  readonly etag: string;
  readonly file: string;
  readonly protocol: string;
  readonly notes: readonly string[];
  /** The equivalent command line. */
  readonly command: string;
};

/** The result of `user-add`. The secret of the user is in the file alone. */
export type AdditionDone = {
  /** Outcome of the reload; `null` if no running Weir serves the file. */
  readonly reload: string | null;
  /** Command that prints the user's link, which contains the secret. */
  readonly share: string;
};
