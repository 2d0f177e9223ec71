/** Frames of QUIC that each client seals as an Initial packet under connection ids of its own. */
export type Encoding = 'raw' | 'initial';

/** A part of what a client sends. On UDP each repetition is a datagram. */
export interface Piece {
  readonly bytes: Buffer;
  readonly repeat: number;
  readonly encoding: Encoding;
}

/** What each client of a batch does; none of them has a password. */
export interface Attack {
  /** The seed that it comes from, and the operators that changed it. */
  readonly story: readonly string[];
  /** Whether the bytes are sent inside TLS, after a complete handshake. */
  readonly insideTls: boolean;
  readonly pieces: readonly Piece[];
  /** Bytes of one write; 0 for as many as there are. Datagrams are not split. */
  readonly writeSize: number;
  /** Source addresses of the loopback network that the clients of a batch share. */
  readonly sources: number;
  readonly end: 'hold' | 'half-close' | 'reset';
  /** Clients of one batch. */
  readonly clients: number;
  /** The source connection id of QUIC in hexadecimal, which the transport parameters of a hello repeat. */
  readonly sourceId: string;
}

/** Bytes and writes of one client, so that no batch is a flood of the machine. */
export const MOST_BYTES = 48 << 10;
export const MOST_WRITES = 512;
export const MOST_CLIENTS = 64;

export const piece = (
  bytes: Uint8Array | readonly number[] | string,
  repeat = 1,
  encoding: Encoding = 'raw',
): Piece => ({
  bytes: typeof bytes === 'string' ? Buffer.from(bytes) : Buffer.from(bytes),
  repeat,
  encoding,
});

/** A seed of the search: what one client sends, in one write. */
export const seed = (
  name: string,
  pieces: readonly Piece[],
  more: Partial<Omit<Attack, 'story' | 'pieces'>> = {},
): Attack => ({
  story: [name],
  insideTls: false,
  pieces,
  writeSize: 0,
  sources: 1,
  end: 'hold',
  clients: 24,
  sourceId: '',
  ...more,
});

/** The bytes of a stream. */
export const streamOf = ({ pieces }: Attack): Buffer =>
  Buffer.concat(pieces.flatMap(({ bytes, repeat }) => Array.from({ length: repeat }, () => bytes)));

/** The writes of a stream, each of which is one segment at most loads. */
export function writesOf(attack: Attack): readonly Buffer[] {
  const all = streamOf(attack);
  if (all.length === 0) return [];
  const size = Math.max(attack.writeSize || all.length, Math.ceil(all.length / MOST_WRITES));
  const count = Math.ceil(all.length / size);
  return Array.from({ length: count }, (_, index) =>
    all.subarray(index * size, (index + 1) * size),
  );
}

/** An attack as JSON, with its bytes in hexadecimal. */
export interface AttackJson extends Omit<Attack, 'pieces'> {
  readonly pieces: readonly {
    readonly bytes: string;
    readonly repeat: number;
    readonly encoding: Encoding;
  }[];
}

export const toJson = (attack: Attack): AttackJson => ({
  ...attack,
  pieces: attack.pieces.map((each) => ({ ...each, bytes: each.bytes.toString('hex') })),
});

export const fromJson = (json: AttackJson): Attack => ({
  ...json,
  pieces: json.pieces.map((each) => ({ ...each, bytes: Buffer.from(each.bytes, 'hex') })),
});
