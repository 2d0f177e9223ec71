import { createHash } from 'node:crypto';
import { uuidBytes } from '../uuid.ts';

const SALT = 'c48619fe-8f02-49e0-b9e9-edf763e17e21';

/** The 16-byte key that an account's UUID (as `parseUuid` gives it) stands for. */
export const userKey = (uuid: string): Buffer =>
  createHash('md5').update(uuidBytes(uuid)).update(SALT).digest();
