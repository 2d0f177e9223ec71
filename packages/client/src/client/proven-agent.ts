import { once } from 'node:events';
import { lstatSync, realpathSync, type Stats } from 'node:fs';
import { Agent, type ClientRequestArgs } from 'node:http';
import { connect, type NetConnectOpts, type Socket } from 'node:net';
import { dirname } from 'node:path';
import type { Duplex } from 'node:stream';
import { asError, WeirError } from '@weir/base';
import { mayReadByGroup, isAmbiguousUser, peerOwners } from '@weir/io/netlink';

/** Conditions on the peer of a connection before it receives the secret of the API. */
export interface ApiProof {
  /** Ids of users that may own the peer's socket: those who can read the secret anyway. */
  readonly owners: ReadonlySet<number>;
  /** The file of the secret: users whose group may read it are accepted too. */
  readonly secretFile?: string | undefined;
  /**
   * Whether the running Weir, asked now, is the one that was found, and has its API at that address: used where the
   * system does not report the owner of a socket.
   */
  readonly isConfirmed: () => Promise<boolean>;
}

/** The peer could not be verified to be Weir, and receives no request. */
export class UnprovenApiError extends WeirError {
  constructor(reason: string) {
    super('unproven_api', reason);
  }
}

/** Milliseconds for a connection on this host and its verification. */
const PROOF_MS = 10_000;

/**
 * An agent for addresses that the user has not named: they come from a file, or from a Weir that may have ended since,
 * and then any user of this host can listen there. Each new connection is verified before a request is written to it. A
 * kept connection needs no further verification: it ends with the process of its peer.
 */
export class ProvenAgent extends Agent {
  readonly #proof: ApiProof;
  readonly #tables: string | undefined;

  /** @param tables the directory of the kernel's socket tables; for tests */
  constructor(proof: ApiProof, tables?: string) {
    super({ keepAlive: true });
    this.#proof = proof;
    this.#tables = tables;
  }

  /** @param callback called once; Node does not expect a call after a returned value */
  override createConnection(
    options: ClientRequestArgs,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    // Node passes no stream along with an error.
    const done = callback as ((error: Error | null, stream?: Duplex) => void) | undefined;
    openProven(options, this.#proof, this.#tables).then(
      (socket) => done?.(null, socket),
      (error: unknown) => done?.(asError(error)),
    );
  }
}

async function openProven(
  options: ClientRequestArgs,
  proof: ApiProof,
  tables: string | undefined,
): Promise<Socket> {
  const path = options.socketPath ?? undefined;
  const before = path === undefined ? undefined : socketFile(path);
  const socket = connect(options as NetConnectOpts);
  const late = setTimeout(() => socket.destroy(new Error('no response')), PROOF_MS);
  try {
    await once(socket, 'connect');
    if (path === undefined) await proveTcp(socket, proof, tables);
    else proveUnix(before, socketFile(path), proof);
    if (socket.errored) throw socket.errored;
    return socket;
  } catch (error) {
    socket.on('error', () => undefined).destroy();
    throw error;
  } finally {
    clearTimeout(late);
  }
}

/** Verifies the peer of a TCP connection. @throws {UnprovenApiError} */
async function proveTcp(
  socket: Socket,
  proof: ApiProof,
  tables: string | undefined,
): Promise<void> {
  const owners = await peerOwners(socket, tables);
  if (!owners) {
    if (await proof.isConfirmed()) return;
    throw new UnprovenApiError(
      'this system does not say whose socket that is, and no running Weir',
    );
  }
  if (owners.length === 0) throw new UnprovenApiError('no process of this host has that socket');
  for (const uid of owners) refuseForeign(uid, proof);
}

const mayHaveSecret = (uid: number, { owners, secretFile }: ApiProof): boolean =>
  owners.has(uid) || (secretFile !== undefined && mayReadByGroup(secretFile, uid));

function refuseForeign(uid: number, proof: ApiProof): void {
  if (!isAmbiguousUser(uid) && mayHaveSecret(uid, proof)) return;
  throw new UnprovenApiError(
    `that socket is of user ${uid}, who is neither root nor the user of Weir`,
  );
}

interface SocketFile {
  readonly file: Stats;
  readonly folder: Stats;
}

/** The socket file at a path; `undefined` if there is none. */
function socketFile(path: string): SocketFile | undefined {
  try {
    const real = realpathSync(path);
    return { file: lstatSync(real), folder: lstatSync(dirname(real)) };
  } catch {
    return undefined;
  }
}

const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

/**
 * Verifies the socket file that a connection was made through, as it was before and after.
 *
 * @throws {UnprovenApiError}
 */
function proveUnix(
  before: SocketFile | undefined,
  after: SocketFile | undefined,
  proof: ApiProof,
): void {
  const isSame =
    before && before.file.ino === after?.file.ino && before.file.dev === after.file.dev;
  if (!isSame) throw new UnprovenApiError('the file of the socket was replaced');
  refuseForeign(before.file.uid, proof);
  const { mode, uid } = before.folder;
  const isOpen = (mode & WRITABLE_BY_OTHERS) !== 0 && (mode & STICKY) === 0;
  if (isOpen || !mayHaveSecret(uid, proof)) {
    throw new UnprovenApiError('other users can replace that socket in its folder');
  }
}
