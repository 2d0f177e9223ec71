import { hash } from 'node:crypto';

/** The key that a client sends in place of its password: its SHA-224 in lower-case hex. */
export const trojanKey = (password: string): Buffer =>
  Buffer.from(hash('sha224', password), 'latin1');
