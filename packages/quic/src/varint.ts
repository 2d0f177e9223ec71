/** Integers of variable length, RFC 9000 §16. */
export { readVarint, TRUNCATED, varintSize, varintSizeAt, writeVarint } from './wire/varint.ts';
