import { hash } from 'node:crypto';

/** The strong entity tag of a configuration file (RFC 9110 §8.8.3): its SHA-256 in quotes. */
export const etagOf = (bytes: Uint8Array): string => `"${hash('sha256', bytes)}"`;
