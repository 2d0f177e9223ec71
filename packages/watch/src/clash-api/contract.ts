/*
 * Bodies of mihomo's external controller, as its dashboards read them (`hub/route`, `adapter`, `tunnel/statistic` of
 * mihomo). Names from configurations and from the network are printable in all of them.
 */

export interface ClashDelay {
  /** RFC 3339. */
  readonly time: string;
  /** Milliseconds; 0 for a failed test. */
  readonly delay: number;
}

/** Results for a proxy of tests with one URL. */
export interface ClashProxyState {
  readonly alive: boolean;
  readonly history: readonly ClashDelay[];
}

/** An outbound or a group. */
export interface ClashProxy {
  readonly name: string;
  readonly type: string;
  readonly alive: boolean;
  readonly history: readonly ClashDelay[];
  /** Results by the URL of the test. */
  readonly extra: Readonly<Record<string, ClashProxyState>>;
  readonly udp: boolean;
  readonly uot: boolean;
  readonly xudp: boolean;
  readonly tfo: boolean;
  readonly mptcp: boolean;
  readonly smux: boolean;
  readonly interface: string;
  readonly 'routing-mark': number;
  readonly 'provider-name': string;
  readonly 'dialer-proxy': string;
  /** The following fields are present for groups only. */
  readonly all?: readonly string[];
  /** The member in use; absent where the choice is made per flow, as in a LoadBalance. */
  readonly now?: string;
  readonly hidden?: boolean;
  readonly icon?: string;
  readonly testUrl?: string;
  readonly expectedStatus?: string;
  readonly fixed?: string;
}

export interface ClashProvider {
  readonly name: string;
  readonly type: 'Proxy';
  readonly vehicleType: 'HTTP' | 'Compatible';
  readonly proxies: readonly ClashProxy[];
  readonly testUrl: string;
  readonly expectedStatus: string;
  /** RFC 3339. */
  readonly updatedAt?: string;
  readonly subscriptionInfo?: {
    readonly Upload: number;
    readonly Download: number;
    readonly Total: number;
    /** Unix seconds; 0 for none. */
    readonly Expire: number;
  };
}
