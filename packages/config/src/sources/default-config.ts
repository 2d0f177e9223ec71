/** Listeners for SOCKS, HTTP and the control API, for clients on this machine only. */
export const LOCAL_LISTENERS = `[[inbound]]
tag = "socks"
protocol = "socks"
listen = "127.0.0.1"
port = 1080

[[inbound]]
tag = "http"
protocol = "http"
listen = "127.0.0.1"
port = 8080

[api]
listen = "127.0.0.1:9090"
`;

/** The configuration used without a file; `config/default.toml` is the same with comments. */
export const DEFAULT_CONFIG = `${LOCAL_LISTENERS}
[[outbound]]
tag = "direct"
protocol = "freedom"
`;
