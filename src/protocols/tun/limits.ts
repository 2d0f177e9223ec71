/**
 * Programs of this host, by address and port, whose datagrams to the DNS service at a device's own
 * address are served at one time, about 2 KB each. At the limit the one that has asked least recently
 * is dropped, and its program asks again.
 */
export const MOST_LOCAL_CLIENTS = 512;

/** Connections of programs of this host to that service. At the limit the oldest one is closed. */
export const MOST_LOCAL_CONNECTIONS = 128;
