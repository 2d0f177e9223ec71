/*
 * Generated from the decoders of the configuration by `npm run docs:library`: change those.
 */

/** A configuration: the tables of a configuration file, with the keys of the file. */
export interface Config {
  /** What is logged. */
  readonly log?: LogConfig | undefined;
  /** How names are resolved; without it by the resolver of the machine. */
  readonly dns?: DnsConfig | undefined;
  /** A listener. */
  readonly inbound?: readonly InboundConfig[] | undefined;
  /** An upstream or a direct connection; the first is the default route. */
  readonly outbound?: readonly OutboundConfig[] | undefined;
  /** Interchangeable outbounds behind one tag. */
  readonly balancer?: readonly BalancerConfig[] | undefined;
  /** Where flows go. */
  readonly route?: RouteConfig | undefined;
  /** A file of nodes and route groups. */
  readonly subscribe?: SubscribeConfig | undefined;
  /** The control API. */
  readonly api?: ApiConfig | undefined;
}

/** What is logged. */
export interface LogConfig {
  /** A filter in the syntax of RUST_LOG: off, error, warn, info, debug, trace, and target=level; "info" by default. */
  readonly level?: string | undefined;
}

/** How names are resolved; without it by the resolver of the machine. */
export interface DnsConfig {
  /** system, udp, tls (DNS over TLS) or https (DNS over HTTPS); "system" by default. */
  readonly backend?: 'system' | 'udp' | 'tls' | 'https' | undefined;
  /** Address and port of the server, never a name. */
  readonly server?: string | undefined;
  /** For tls: the name that the certificate must be for. */
  readonly server_name?: string | undefined;
  /** For https: https://NAME/PATH. */
  readonly url?: string | undefined;
  /** PEM file of further authorities. */
  readonly ca_file?: string | undefined;
}

/** Interchangeable outbounds behind one tag. */
export interface BalancerConfig {
  /** Names the balancer, as an outbound. */
  readonly tag: string;
  /** Tags of its members; for failover in order of preference. */
  readonly outbounds: readonly string[];
  /** failover: the first that is reachable; round_robin: in turn; "failover" by default. */
  readonly strategy?: 'failover' | 'round_robin' | undefined;
  /** Seconds from the end of a probe to the next; 30 by default. */
  readonly probe_interval?: number | undefined;
  /** Seconds that a probe may take; 5 by default. */
  readonly probe_timeout?: number | undefined;
}

/** Where flows go. */
export interface RouteConfig {
  /** Outbound or balancer for what no rule matches; the first outbound when left out. */
  readonly default?: string | undefined;
  /** A geoip.dat. */
  readonly geoip?: string | undefined;
  /** A geosite.dat. */
  readonly geosite?: string | undefined;
  /** Tried from the top until one matches. */
  readonly rule?:
    | readonly {
        /** The outbound or balancer of flows that match every matcher here. */
        readonly outbound: string;
        /** Domains, with all their subdomains. */
        readonly domain_suffix?: readonly string[] | undefined;
        /** Parts of host names. */
        readonly domain_keyword?: readonly string[] | undefined;
        /** Whole host names. */
        readonly domain_full?: readonly string[] | undefined;
        /** Regular expressions in Rust's syntax, for host names. */
        readonly domain_regex?: readonly string[] | undefined;
        /** Networks of the destination, ADDRESS/PREFIX. */
        readonly cidr?: readonly string[] | undefined;
        /** Networks of the client, ADDRESS/PREFIX. */
        readonly source_cidr?: readonly string[] | undefined;
        /** Ports of the destination, or ranges: 80, 8000-8999. */
        readonly port?: readonly string[] | undefined;
        /** Streams (tcp) or datagrams (udp) alone. */
        readonly network?: 'tcp' | 'udp' | undefined;
        /** Tags of inbounds. */
        readonly inbound_tag?: readonly string[] | undefined;
        /** Lists of the geosite file, CODE or CODE@ATTRIBUTE. */
        readonly geosite?: readonly string[] | undefined;
        /** Lists of the geoip file, CODE or !CODE. */
        readonly geoip?: readonly string[] | undefined;
      }[]
    | undefined;
}

/** A file of nodes and route groups. */
export interface SubscribeConfig {
  /** The subscribe file, relative to this file. */
  readonly path?: string | undefined;
  /** The pick of each route group, and as default that of the default route. */
  readonly routes?: Readonly<Record<string, string>> | undefined;
}

/** The control API. */
export interface ApiConfig {
  /** ip:port, or the path of a unix socket; "127.0.0.1:9090" by default. */
  readonly listen?: string | undefined;
  /** Bearer token of every request; required unless only this host can connect. */
  readonly secret?: string | undefined;
}

/** The transport below the protocol. */
export interface InboundStreamConfig {
  /** The carrier; "tcp" by default. */
  readonly network?: 'tcp' | 'tls' | 'ws' | 'grpc' | undefined;
  /** TLS below ws or grpc; for TLS alone write network = "tls"; "none" by default. */
  readonly security?: 'none' | 'tls' | undefined;
  /** Settings of TLS. */
  readonly tls?:
    | {
        /** The name that is sent and verified; by default the server. */
        readonly server_name?: string | undefined;
        /** Accepts any certificate. */
        readonly allow_insecure?: boolean | undefined;
        /** PEM file of further authorities. */
        readonly ca_file?: string | undefined;
        /** Inbounds: PEM file of the chain, leaf first. */
        readonly cert_file?: string | undefined;
        /** Inbounds: PEM file of the private key. */
        readonly key_file?: string | undefined;
      }
    | undefined;
  /** For network = "ws". */
  readonly ws?:
    | {
        /** Path of the upgrade request; ?ed=N allows early data. */
        readonly path?: string | undefined;
        /** The Host header; by default the name of the server. */
        readonly host?: string | undefined;
      }
    | undefined;
  /** For network = "grpc". */
  readonly grpc?:
    | {
        /** Both ends have to agree on it. */
        readonly service_name?: string | undefined;
        /** By default the name of the server. */
        readonly authority?: string | undefined;
      }
    | undefined;
}

/** The keys that every inbound has. */
export interface InboundCommonConfig {
  /** Names the inbound in logs and rules. */
  readonly tag: string;
  /** An IP address, a host name, or the path of a unix socket; "127.0.0.1" by default. */
  readonly listen?: string | undefined;
  /** 0 takes a free port. */
  readonly port?: number | undefined;
  /** The transport below the protocol. */
  readonly stream?: InboundStreamConfig | undefined;
  /** Has no effect. */
  readonly address_family?: string | undefined;
  /** Reads the host name from the first bytes of flows to an IP address; true by default. */
  readonly sniffing?: boolean | undefined;
}

/** An inbound of the protocol http. */
export interface HttpInboundConfig extends InboundCommonConfig {
  /** What clients speak. */
  readonly protocol: 'http';
  /** Depends on the protocol. */
  readonly settings?:
    | {
        /** Without any the proxy is open. */
        readonly accounts?:
          | readonly {
              readonly user: string;
              readonly pass: string;
            }[]
          | undefined;
        /** Accepts GET /path with a Host header; false by default. */
        readonly allow_transparent?: boolean | undefined;
      }
    | undefined;
}

/** An inbound of the protocol hysteria2. */
export interface Hysteria2InboundConfig extends InboundCommonConfig {
  /** What clients speak. */
  readonly protocol: 'hysteria2' | 'hysteria' | 'hy2';
  /** Depends on the protocol. */
  readonly settings?:
    | {
        /** PEM file of the chain, leaf first. */
        readonly cert_file?: string | undefined;
        /** PEM file of the private key. */
        readonly key_file?: string | undefined;
        /** Password of all clients, unless there are users. */
        readonly password?: string | undefined;
        /** Accounts, unless there is one password. */
        readonly users?:
          | readonly {
              readonly user: string;
              readonly pass: string;
              /** "" by default. */
              readonly email?: string | undefined;
            }[]
          | undefined;
        /** Whether UDP is relayed; false by default. */
        readonly udp?: boolean | undefined;
        /** Seconds of silence that end an association, 2 to 600. */
        readonly udp_idle_timeout?: number | undefined;
        /** QUIC connections at one time; 4096 by default. */
        readonly max_connections?: number | undefined;
        /** Streams and associations at one time; 65536 by default. */
        readonly max_circuits?: number | undefined;
        /** salamander, or none when left out. */
        readonly obfs?: string | undefined;
        /** For obfs, at least 4 bytes. */
        readonly obfs_password?: string | undefined;
        /** The response to everything but valid clients. */
        readonly masquerade?:
          | {
              /** 404 by default. */
              readonly status?: number | undefined;
              /** "404 page not found\n" by default. */
              readonly body?: string | undefined;
              /** "text/plain; charset=utf-8" by default. */
              readonly content_type?: string | undefined;
            }
          | undefined;
      }
    | undefined;
}

/** An inbound of the protocol shadowsocks. */
export interface ShadowsocksInboundConfig extends InboundCommonConfig {
  /** What clients speak. */
  readonly protocol: 'shadowsocks';
  /** Depends on the protocol. */
  readonly settings: {
    /** Such as aes-128-gcm or 2022-blake3-aes-128-gcm. */
    readonly method: string;
    /** 2022: a key in base64. */
    readonly password: string;
    /** Several users on one port. */
    readonly users?:
      | readonly {
          readonly password: string;
          /** "" by default. */
          readonly email?: string | undefined;
        }[]
      | undefined;
    /** Several users on one port. */
    readonly clients?:
      | readonly {
          readonly password: string;
          /** "" by default. */
          readonly email?: string | undefined;
        }[]
      | undefined;
  };
}

/** An inbound of the protocol socks. */
export interface SocksInboundConfig extends InboundCommonConfig {
  /** What clients speak. */
  readonly protocol: 'socks';
  /** Depends on the protocol. */
  readonly settings?:
    | {
        /** password requires a login, and refuses SOCKS4; "none" by default. */
        readonly auth?: 'none' | 'password' | undefined;
        /** For auth = "password". */
        readonly accounts?:
          | readonly {
              readonly user: string;
              readonly pass: string;
            }[]
          | undefined;
        /** Whether UDP ASSOCIATE is offered; true by default. */
        readonly udp?: boolean | undefined;
        /** IP address of the UDP relay; by default that of the connection. */
        readonly udp_bind?: string | undefined;
      }
    | undefined;
}

/** An inbound of the protocol trojan. */
export interface TrojanInboundConfig extends InboundCommonConfig {
  /** What clients speak. */
  readonly protocol: 'trojan';
  /** Depends on the protocol. */
  readonly settings?:
    | {
        /** Without any every client is rejected. */
        readonly users?:
          | readonly {
              readonly password: string;
              /** "" by default. */
              readonly email?: string | undefined;
            }[]
          | undefined;
      }
    | undefined;
}

/** An inbound of the protocol tun. */
export interface TunInboundConfig extends InboundCommonConfig {
  /** What clients speak. */
  readonly protocol: 'tun';
  /** Depends on the protocol. */
  readonly settings?:
    | {
        /** Name of the interface; the kernel chooses one when left out. */
        readonly name?: string | undefined;
        /** In bytes, at least 1280; 1500 by default. */
        readonly mtu?: number | undefined;
        /** ADDRESS/PREFIX, of the interface. */
        readonly address?: readonly string[] | undefined;
        /** Networks routed into the interface. */
        readonly routes?: readonly string[] | undefined;
        /** Whether UDP is relayed; true by default. */
        readonly udp?: boolean | undefined;
        /** Seconds of silence that end a UDP flow; 60 by default. */
        readonly udp_idle_timeout?: number | undefined;
        /** Flows at one time; 65536 by default. */
        readonly max_flows?: number | undefined;
      }
    | undefined;
}

/** An inbound of the protocol vless. */
export interface VlessInboundConfig extends InboundCommonConfig {
  /** What clients speak. */
  readonly protocol: 'vless';
  /** Depends on the protocol. */
  readonly settings?:
    | {
        /** Without any every client is rejected. */
        readonly users?:
          | readonly {
              readonly id: string;
            }[]
          | undefined;
      }
    | undefined;
}

/** An inbound of the protocol vmess. */
export interface VmessInboundConfig extends InboundCommonConfig {
  /** What clients speak. */
  readonly protocol: 'vmess';
  /** Depends on the protocol. */
  readonly settings?:
    | {
        /** Without any every client is rejected. */
        readonly users?:
          | readonly {
              readonly id: string;
            }[]
          | undefined;
      }
    | undefined;
}

/** A listener. */
export type InboundConfig =
  | HttpInboundConfig
  | Hysteria2InboundConfig
  | ShadowsocksInboundConfig
  | SocksInboundConfig
  | TrojanInboundConfig
  | TunInboundConfig
  | VlessInboundConfig
  | VmessInboundConfig;

/** The transport below the protocol. */
export interface OutboundStreamConfig {
  /** The carrier; "tcp" by default. */
  readonly network?: 'tcp' | 'tls' | 'ws' | 'grpc' | undefined;
  /** TLS below ws or grpc; for TLS alone write network = "tls"; "none" by default. */
  readonly security?: 'none' | 'tls' | undefined;
  /** Settings of TLS. */
  readonly tls?:
    | {
        /** The name that is sent and verified; by default the server. */
        readonly server_name?: string | undefined;
        /** Accepts any certificate. */
        readonly allow_insecure?: boolean | undefined;
        /** PEM file of further authorities. */
        readonly ca_file?: string | undefined;
        /** Inbounds: PEM file of the chain, leaf first. */
        readonly cert_file?: string | undefined;
        /** Inbounds: PEM file of the private key. */
        readonly key_file?: string | undefined;
      }
    | undefined;
  /** For network = "ws". */
  readonly ws?:
    | {
        /** Path of the upgrade request; ?ed=N allows early data. */
        readonly path?: string | undefined;
        /** The Host header; by default the name of the server. */
        readonly host?: string | undefined;
      }
    | undefined;
  /** For network = "grpc". */
  readonly grpc?:
    | {
        /** Both ends have to agree on it. */
        readonly service_name?: string | undefined;
        /** By default the name of the server. */
        readonly authority?: string | undefined;
      }
    | undefined;
}

/** The keys that every outbound has. */
export interface OutboundCommonConfig {
  /** Names the outbound in logs and routes. */
  readonly tag: string;
  /** IP address or host name of the upstream server. */
  readonly server?: string | undefined;
  /** Port of the upstream server. */
  readonly port?: number | undefined;
  /** The transport below the protocol. */
  readonly stream?: OutboundStreamConfig | undefined;
  /** auto, ipv4_only, ipv6_only, prefer_ipv4 or prefer_ipv6, for names that are resolved here. */
  readonly address_family?: string | undefined;
}

/** An outbound of the protocol blackhole. */
export interface BlackholeOutboundConfig extends OutboundCommonConfig {
  /** What the upstream server speaks; freedom dials directly. */
  readonly protocol: 'blackhole' | 'block';
  /** Ignored. */
  readonly settings?: Readonly<Record<string, unknown>> | undefined;
}

/** An outbound of the protocol freedom. */
export interface FreedomOutboundConfig extends OutboundCommonConfig {
  /** What the upstream server speaks; freedom dials directly. */
  readonly protocol: 'freedom' | 'direct';
  /** Ignored. */
  readonly settings?: Readonly<Record<string, unknown>> | undefined;
}

/** An outbound of the protocol http. */
export interface HttpOutboundConfig extends OutboundCommonConfig {
  /** What the upstream server speaks; freedom dials directly. */
  readonly protocol: 'http';
  /** Depends on the protocol. */
  readonly settings?:
    | {
        /** Without it no login is sent. */
        readonly user?: string | undefined;
        /** Used with user only. */
        readonly pass?: string | undefined;
      }
    | undefined;
}

/** An outbound of the protocol hysteria2. */
export interface Hysteria2OutboundConfig extends OutboundCommonConfig {
  /** What the upstream server speaks; freedom dials directly. */
  readonly protocol: 'hysteria2' | 'hysteria' | 'hy2';
  /** Depends on the protocol. */
  readonly settings: {
    /** user:pass where the server has users. */
    readonly password: string;
    /** The name that is sent and verified; by default the server. */
    readonly server_name?: string | undefined;
    /** Accepts any certificate; false by default. */
    readonly allow_insecure?: boolean | undefined;
    /** PEM file of further authorities. */
    readonly ca_file?: string | undefined;
    /** salamander, or none when left out. */
    readonly obfs?: string | undefined;
    /** For obfs, at least 4 bytes. */
    readonly obfs_password?: string | undefined;
    /** Streams at one time; 102400 by default. */
    readonly max_concurrent_streams?: number | undefined;
  };
}

/** An outbound of the protocol shadowsocks. */
export interface ShadowsocksOutboundConfig extends OutboundCommonConfig {
  /** What the upstream server speaks; freedom dials directly. */
  readonly protocol: 'shadowsocks';
  /** Depends on the protocol. */
  readonly settings: {
    /** That of the server. */
    readonly method: string;
    /** 2022: keys in base64, the own one last. */
    readonly password: string;
  };
}

/** An outbound of the protocol socks. */
export interface SocksOutboundConfig extends OutboundCommonConfig {
  /** What the upstream server speaks; freedom dials directly. */
  readonly protocol: 'socks';
  /** Depends on the protocol. */
  readonly settings?:
    | {
        /** Without it no login is sent. */
        readonly user?: string | undefined;
        /** Used with user only. */
        readonly pass?: string | undefined;
      }
    | undefined;
}

/** An outbound of the protocol trojan. */
export interface TrojanOutboundConfig extends OutboundCommonConfig {
  /** What the upstream server speaks; freedom dials directly. */
  readonly protocol: 'trojan';
  /** Depends on the protocol. */
  readonly settings: {
    /** One of the server's. */
    readonly password: string;
  };
}

/** An outbound of the protocol vless. */
export interface VlessOutboundConfig extends OutboundCommonConfig {
  /** What the upstream server speaks; freedom dials directly. */
  readonly protocol: 'vless';
  /** Depends on the protocol. */
  readonly settings: {
    /** UUID of a user of the server. */
    readonly id: string;
  };
}

/** An outbound of the protocol vmess. */
export interface VmessOutboundConfig extends OutboundCommonConfig {
  /** What the upstream server speaks; freedom dials directly. */
  readonly protocol: 'vmess';
  /** Depends on the protocol. */
  readonly settings: {
    /** UUID of a user of the server. */
    readonly id: string;
    /** Cipher of the body: aes-128-gcm, auto or chacha20-poly1305; "aes-128-gcm" by default. */
    readonly security?: string | undefined;
  };
}

/** An outbound of the protocol wireguard. */
export interface WireguardOutboundConfig extends OutboundCommonConfig {
  /** What the upstream server speaks; freedom dials directly. */
  readonly protocol: 'wireguard';
  /** Depends on the protocol. */
  readonly settings: {
    /** The own key in base64 or hex. */
    readonly private_key: string;
    /** That of the peer. */
    readonly peer_public_key: string;
    /** When the peer has one. */
    readonly preshared_key?: string | undefined;
    /** host:port of the peer, IPv6 without brackets. */
    readonly endpoint: string;
    /** Own addresses in the tunnel, without a prefix length. */
    readonly address: readonly string[];
    /** Bytes of the largest packet in the tunnel; 1420 by default. */
    readonly mtu?: number | undefined;
    /** Seconds; 0 is off; 0 by default. */
    readonly keepalive?: number | undefined;
    /** Three bytes for the header of every packet. */
    readonly reserved?: unknown;
  };
}

/** An upstream or a direct connection; the first is the default route. */
export type OutboundConfig =
  | BlackholeOutboundConfig
  | FreedomOutboundConfig
  | HttpOutboundConfig
  | Hysteria2OutboundConfig
  | ShadowsocksOutboundConfig
  | SocksOutboundConfig
  | TrojanOutboundConfig
  | VlessOutboundConfig
  | VmessOutboundConfig
  | WireguardOutboundConfig;
