/**
 * The effects of a reload. Items are texts in the order of the plan: dns, outbounds, balancers, route,
 * user sets, inbounds.
 */
export type ReloadReport = UnchangedReport | AppliedReport;

/** The files have the same bytes as in the last attempt. */
export interface UnchangedReport {
  readonly status: 'unchanged';
}

export interface AppliedReport {
  readonly status: 'applied';
  /** Built resources: `inbound <tag>`, `outbound <tag>@v<n>`, `balancer <tag>`, `user set <tag>`, `route`, `dns`. */
  readonly built: readonly string[];
  /** Tags of inbounds that kept their listener and got a new handler. */
  readonly swapped: readonly string[];
  /** Outbound versions that stay open until their last flow ends: `<tag>@v<n>`. */
  readonly drained: readonly string[];
  /** Tags of inbounds that listen at another address. */
  readonly rebound: readonly string[];
  /** Tags of inbounds whose listener was closed and bound again at its address. */
  readonly restarted: readonly string[];
  /** Tags of removed inbounds. */
  readonly removed: readonly string[];
  /** Resources that were reused, named as in `built`. */
  readonly reused: readonly string[];
}
