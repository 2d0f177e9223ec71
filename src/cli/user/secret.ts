import { userSecret } from '../../accounts/new-secrets.ts';
import { FilesRead } from '../../app/loading/files-read.ts';
import type { UserForm } from '../../protocols/forms/contract.ts';
import type { RandomSource } from '../../crypto/random-source.ts';
import { UsageError, messageOf, WeirError } from '../../errors.ts';
import type { GivenSecret } from './arguments.ts';

/** Maximum bytes of the file; longer than any password. */
const MAX_FILE = 4096;

/** Provides the secret of a user. */
export type SecretMaker = (kind: UserForm, method: string | undefined) => string;

/**
 * A maker of the given secret, or of new ones. It throws a UsageError for a given secret that is invalid for the
 * inbound's protocol.
 * @throws {WeirError} when the file cannot be read
 */
export async function secretMaker(
  given: GivenSecret | undefined,
  random: RandomSource,
): Promise<SecretMaker> {
  if (!given) {
    return (kind, method) => userSecret(kind, method, random);
  }
  const text = given.kind === 'file' ? await firstLine(given.path) : given.text;
  return (kind) => {
    const isId = kind.secret === 'id';
    if (isId && given.kind !== 'id') throw new UsageError('a user of this inbound has an --id');
    if (!isId && given.kind === 'id') {
      throw new UsageError('a user of this inbound has a password, not an --id');
    }
    return text;
  };
}

async function firstLine(path: string): Promise<string> {
  try {
    const bytes = await new FilesRead(MAX_FILE).read(path);
    const [line = ''] = Buffer.from(bytes).toString().split(/\r?\n/, 1);
    if (line !== '') return line;
  } catch (error) {
    throw new WeirError('password_file', `cannot read ${path}: ${messageOf(error)}`, {
      cause: error,
    });
  }
  throw new WeirError('password_file', `the first line of ${path} is empty`);
}
