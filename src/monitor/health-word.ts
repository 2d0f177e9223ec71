/** One word for how a running Weir does; pages load this file too. */
export type HealthWord =
  /** The API has not answered yet. */
  | 'Connecting'
  | 'Serving'
  /** The last reload failed: an older configuration is in force. */
  | 'Reload refused'
  | 'API lost'
  /** The configuration has no `[api]`. */
  | 'No API'
  /** Flow events were missed, and the flows have not been listed since. */
  | 'Behind';
