/** The health of a running Weir in a word; pages load this file too. */
export type HealthWord =
  /** The API has not responded yet. */
  | 'Connecting'
  | 'Serving'
  /** The last reload failed: an older configuration is in force. */
  | 'Reload refused'
  | 'API lost'
  /** The configuration has no `[api]`. */
  | 'No API'
  /** Flow events were missed, and flows have not been listed since. */
  | 'Behind';
