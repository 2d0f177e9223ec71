/** What runs without a configuration file; `config/default.toml` is the same with comments. */
export const DEFAULT_CONFIG = `
[[inbound]]
tag = "socks"
protocol = "socks"
listen = "127.0.0.1"
port = 1080

[[inbound]]
tag = "http"
protocol = "http"
listen = "127.0.0.1"
port = 8080

[[outbound]]
tag = "direct"
protocol = "freedom"

[api]
listen = "127.0.0.1:9090"
`;
