import type { Target } from '../../peers/socks-client.ts';

/*
 * The configuration of a small office with users, several outbounds and a balancer. Servers have names and addresses for
 * documentation (RFC 2606, RFC 5737), but for the one that refuses.
 */

/** Nodes of the subscription, as its provider names them. */
export const SUBSCRIBED = [
  'Tokyo 01',
  'Tokyo 02',
  'Osaka 01',
  'Singapore 01',
  'Singapore 02',
  'Seoul 01',
  'Frankfurt 01',
  'Frankfurt 02',
  'Amsterdam 01',
  'London 01',
  'New York 01',
  'San Jose 01',
] as const;

/** What the provider responds: links. */
export const SUBSCRIPTION = SUBSCRIBED.map((name) => {
  const host = name.toLowerCase().replaceAll(' ', '-');
  return `trojan://pw@${host}.provider.example:443#${encodeURIComponent(name)}`;
}).join('\n');

/** The subscribe file before the first update: groups of destinations. */
export const GROUPS = `[[route_group]]
name = "Advertising"
inherit = "blackhole"
[[route_group.rule]]
domain_suffix = ["ads.example", "tracker.example"]

[[route_group]]
name = "Video"
[[route_group.rule]]
domain_suffix = ["video.example", "stream.example"]

[[route_group]]
name = "Music"
inherit = { group = "Video" }
[[route_group.rule]]
domain_suffix = ["music.example"]

[[route_group]]
name = "Meetings"
[[route_group.rule]]
domain_suffix = ["meet.example"]
port = ["443", "3478"]
`;

/** Lines to add when the nodes are there. */
export const PICKS = `
[subscribe.routes]
Video = "Singapore 01"
Meetings = "Frankfurt 01"
`;

/** @param dead an address where nothing listens; `live`: one of a SOCKS server */
export const demoConfig = (dead: Target, live: Target): string => `[log]
level = "debug"

[api]
listen = "127.0.0.1:0"

[[inbound]]
tag = "office"
protocol = "socks"
listen = "127.0.0.1"
port = 0

[[inbound]]
tag = "travel"
protocol = "socks"
port = 0
[inbound.settings]
auth = "password"
accounts = [
  { user = "ann", pass = "pw" },
  { user = "ben", pass = "pw" },
  { user = "carla", pass = "pw" },
  { user = "dmitri", pass = "pw" },
]

[[inbound]]
tag = "phones"
protocol = "vless"
port = 0
[inbound.settings]
users = [{ id = "b831381d-6324-4d53-ad4f-8cda48b30811" }]

[[outbound]]
tag = "direct"
protocol = "freedom"

[[outbound]]
tag = "tokyo"
protocol = "trojan"
server = "tokyo.example.net"
port = 443
[outbound.settings]
password = "pw"

[[outbound]]
tag = "osaka"
protocol = "shadowsocks"
server = "osaka.example.net"
port = 8388
[outbound.settings]
method = "aes-256-gcm"
password = "pw"

[[outbound]]
tag = "seoul"
protocol = "socks"
server = "${dead.host}"
port = ${dead.port}

[[outbound]]
tag = "taipei"
protocol = "socks"
server = "${live.host}"
port = ${live.port}

[[outbound]]
tag = "block"
protocol = "blackhole"

[[balancer]]
tag = "asia"
outbounds = ["seoul", "taipei"]
probe_interval = 600

[route]
default = "direct"

[[route.rule]]
outbound = "direct"
cidr = ["10.0.0.0/8", "192.168.0.0/16"]

[[route.rule]]
outbound = "tokyo"
domain_suffix = ["code.example", "registry.example"]

[[route.rule]]
outbound = "osaka"
domain_suffix = ["mail.example"]
port = ["143", "465", "587", "993"]

[[route.rule]]
outbound = "seoul"
domain_suffix = ["archive.example"]

[[route.rule]]
outbound = "block"
domain_suffix = ["beacon.example"]

[[route.rule]]
outbound = "tokyo"
domain_suffix = ["www.code.example"]

[subscribe]
path = "nodes.toml"
`;
