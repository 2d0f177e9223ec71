import { hash } from 'node:crypto';

/** Returns the key that a client sends instead of its password: SHA-224 in lower-case hex. */
export const trojanKey = (password: string): Buffer =>
  Buffer.from(hash('sha224', password), 'latin1');
