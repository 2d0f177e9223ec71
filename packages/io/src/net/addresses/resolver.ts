/** The order and choice of the addresses of a name; see `[[outbound]].address_family`. */
export type FamilyPolicy = 'auto' | 'ipv4_only' | 'ipv6_only' | 'prefer_ipv4' | 'prefer_ipv6';

/** Resolves names. Never uses the proxy's outbounds. */
export interface Resolver {
  /**
   * Returns the addresses of a host in the order in which they should be tried, at least one. An IP address
   * in text is returned itself when the policy allows its family.
   *
   * @param client the IP address of the requesting client, so that one client cannot use all capacity;
   *   left out for names of the configuration.
   * @throws {DialError} `not_found` when there is no address of an allowed family, `unresolved`
   *   when the name servers fail, `timed_out` when there is no response in time, `aborted` when
   *   `signal` aborts.
   */
  resolve(
    host: string,
    policy: FamilyPolicy,
    signal?: AbortSignal,
    client?: string,
  ): Promise<readonly string[]>;
}
