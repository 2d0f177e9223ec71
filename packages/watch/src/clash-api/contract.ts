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

export interface ClashRule {
  readonly index: number;
  readonly type: string;
  readonly payload: string;
  readonly proxy: string;
  readonly size: number;
  /** Absent where flows of rules are not counted. */
  readonly extra?: ClashRuleHits;
}

/** Flows that a rule has taken since the rules are in force; misses are not counted. */
export interface ClashRuleHits {
  readonly disabled: false;
  readonly hitCount: number;
  readonly hitAt: string;
  readonly missCount: 0;
  readonly missAt: string;
}

export interface ClashMetadata {
  readonly network: string;
  readonly type: string;
  readonly sourceIP: string;
  readonly destinationIP: string;
  readonly sourceGeoIP: null;
  readonly destinationGeoIP: null;
  readonly sourceIPASN: string;
  readonly destinationIPASN: string;
  readonly sourcePort: string;
  readonly destinationPort: string;
  readonly inboundIP: string;
  readonly inboundPort: string;
  readonly inboundName: string;
  readonly inboundUser: string;
  readonly host: string;
  readonly dnsMode: string;
  readonly uid: number;
  readonly process: string;
  readonly processPath: string;
  readonly specialProxy: string;
  readonly specialRules: string;
  readonly remoteDestination: string;
  readonly dscp: number;
  readonly sniffHost: string;
}

export interface ClashConnection {
  readonly id: string;
  readonly metadata: ClashMetadata;
  readonly upload: number;
  readonly download: number;
  /** RFC 3339. */
  readonly start: string;
  /** The outbound first, then the groups that contain it. */
  readonly chains: readonly string[];
  readonly rule: string;
  readonly rulePayload: string;
}

export interface ClashSnapshot {
  readonly downloadTotal: number;
  readonly uploadTotal: number;
  readonly connections: readonly ClashConnection[];
  /** Memory in bytes. */
  readonly memory: number;
}
