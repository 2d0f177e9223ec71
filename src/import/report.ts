/**
 * The outcome of one part of a document. Readers and writers together report every server, group, rule and inbound, the
 * default, DNS, and every other key.
 */
export interface ReportItem {
  readonly part: 'server' | 'group' | 'rule' | 'default' | 'inbound' | 'dns' | 'log' | 'key';
  /** The part as the document names it: a name, a rule, the path of a key. */
  readonly source: string;
  /**
   * `imported`: with the same meaning; `changed`: written with the differences in `notes`; `same`: nothing has to be
   * written; `skipped`: left out, for the reason in `notes`.
   */
  readonly status: 'imported' | 'changed' | 'same' | 'skipped';
  /** The tag or name in the result. */
  readonly as?: string | undefined;
  readonly notes: readonly string[];
}

/** The report in the form of `weir import --report json`; further keys may be added. */
export interface ImportReport {
  readonly version: 1;
  /** Name of the detected format. */
  readonly kind: string;
  readonly items: readonly ReportItem[];
  /** Targets whose flows are dropped because they were not imported; empty if there are none. */
  readonly problems: readonly string[];
}
