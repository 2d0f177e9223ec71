/**
 * What became of one part of a document. Readers and writers together make one for every server,
 * group, rule and inbound, the default, DNS, and every other key.
 */
export interface ReportItem {
  readonly part: 'server' | 'group' | 'rule' | 'default' | 'inbound' | 'dns' | 'log' | 'key';
  /** How the document calls it: a name, a rule, the path of a key. */
  readonly source: string;
  /**
   * `imported`: it means the same; `changed`: it is written, and `notes` say what differs; `same`:
   * nothing has to be written; `skipped`: it is left out, for the reason in `notes`.
   */
  readonly status: 'imported' | 'changed' | 'same' | 'skipped';
  /** The tag or name that it has now. */
  readonly as?: string | undefined;
  readonly notes: readonly string[];
}

/** The form of `weir import --report json`; further keys may be added to it. */
export interface ImportReport {
  readonly version: 1;
  /** What the document was detected to be. */
  readonly kind: string;
  readonly items: readonly ReportItem[];
  /** Flows that are dropped because their target is not imported; empty when none are. */
  readonly problems: readonly string[];
}
