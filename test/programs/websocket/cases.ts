/** A frame; the payload is `hex`, or `size` bytes of a pattern. */
export interface SentFrame {
  readonly opcode: number;
  /** Absent: true. */
  readonly fin?: boolean;
  /** The three reserved bits. */
  readonly rsv?: number;
  /** Absent: true, as a client must. */
  readonly masked?: boolean;
  readonly hex?: string;
  readonly size?: number;
  /** In place of the payload's own length, as a decimal number that JSON can hold. */
  readonly length?: number;
  /** In place of the shortest form. */
  readonly lengthForm?: 'short' | '16' | '64';
}

export interface WebSocketCase {
  /** The number that the case has in Autobahn's table, and what it is about. */
  readonly id: string;
  readonly frames: readonly SentFrame[];
  /** Bytes that are sent at once; absent: all. */
  readonly chop?: number;
  /** The data comes back, then the client closes; otherwise the frames themselves end the connection. */
  readonly closes?: boolean;
  /** Whether the first data frame opens a flow; absent: true. */
  readonly opens?: boolean;
  /** The payload of the last Pong, which the client waits for. */
  readonly lastPong?: string;
  /** The code of the Close frame that ends the connection. */
  readonly code: number;
  /** Whether all data of the case must have come back. */
  readonly echoes: boolean;
}

const TEXT = 1;
const BINARY = 2;
const CONTINUATION = 0;
const CLOSE = 8;
const PING = 9;
const PONG = 10;

const data = (size: number, opcode = BINARY): SentFrame => ({ opcode, size });
const part = (size: number, opcode: number, fin = false): SentFrame => ({ opcode, size, fin });
const ping = (hex = ''): SentFrame => ({ opcode: PING, hex });
const closeFrame = (hex: string): SentFrame => ({ opcode: CLOSE, hex });
const code16 = (code: number): string => code.toString(16).padStart(4, '0');

/** Legal frames, whose data comes back. */
const echo = (id: string, frames: readonly SentFrame[], more: object = {}): WebSocketCase => ({
  id,
  frames,
  closes: true,
  code: 1000,
  echoes: true,
  ...more,
});

/** Frames that the server must fail the connection for, alone or after data. */
const wrong = (id: string, ...frames: readonly SentFrame[]): WebSocketCase => ({
  id,
  frames,
  code: 1002,
  echoes: false,
});

/** A Close frame after data, and the server's code. */
const closing = (id: string, hex: string, code = 1000): WebSocketCase => ({
  id,
  frames: [data(5), closeFrame(hex)],
  code,
  echoes: code === 1000,
});

const SIZES = [0, 125, 126, 127, 128, 65_535, 65_536];
const hex125 = 'fe'.repeat(125);

const FRAMING: readonly WebSocketCase[] = [
  ...SIZES.map((size, i) => echo(`1.1.${i + 1} text of ${size} bytes`, [data(size, TEXT)])),
  echo('1.1.8 text in writes of 997 bytes', [data(65_536, TEXT)], { chop: 997 }),
  ...SIZES.map((size, i) => echo(`1.2.${i + 1} binary of ${size} bytes`, [data(size)])),
  echo('1.2.8 binary in writes of 997 bytes', [data(65_536)], { chop: 997 }),
];

const PINGS: readonly WebSocketCase[] = [
  echo('2.1 an empty Ping', [data(5), ping()], { lastPong: '' }),
  echo('2.2 a Ping with text', [data(5), ping('68656c6c6f')], { lastPong: '68656c6c6f' }),
  echo('2.3 a Ping with binary', [data(5), ping('00fffefdfcfb00ff')], {
    lastPong: '00fffefdfcfb00ff',
  }),
  echo('2.4 a Ping of 125 bytes', [data(5), ping(hex125)], { lastPong: hex125 }),
  wrong('2.5 a Ping of 126 bytes', ping('fe'.repeat(126))),
  echo('2.6 a Ping in writes of a byte', [data(5), ping(hex125)], { lastPong: hex125, chop: 1 }),
  echo('2.7 a Pong that nothing asked for', [{ opcode: PONG, hex: '' }, data(5)]),
  echo('2.8 a Pong with payload that nothing asked for', [{ opcode: PONG, hex: 'aabb' }, data(5)]),
  echo('2.9 such a Pong, then a Ping', [{ opcode: PONG, hex: 'aabb' }, data(5), ping('01')], {
    lastPong: '01',
  }),
  // RFC 6455 §5.5.3 lets a server respond to the most recent one alone.
  ...[0, 1].map((chop) =>
    echo(
      `2.${10 + chop} ten Pings${chop === 1 ? ' in writes of a byte' : ''}`,
      [data(5), ...Array.from({ length: 10 }, (_, i) => ping(`0${i}`))],
      { lastPong: '09', chop },
    ),
  ),
];

const RESERVED_BITS: readonly WebSocketCase[] = [1, 2, 3, 4, 5, 6, 7].flatMap((rsv) => [
  wrong(`3.${rsv} reserved bits ${rsv} in a data frame`, { opcode: BINARY, size: 5, rsv }),
  wrong(`3.${rsv} reserved bits ${rsv} after data`, data(5), { opcode: TEXT, size: 5, rsv }),
  wrong(`3.${rsv} reserved bits ${rsv} in a Ping`, { ...ping('01'), rsv }),
  wrong(`3.${rsv} reserved bits ${rsv} in a Close frame`, { ...closeFrame('03e8'), rsv }),
]);

const OPCODES: readonly WebSocketCase[] = [3, 4, 5, 6, 7, 11, 12, 13, 14, 15].flatMap((opcode) => [
  wrong(`4 opcode ${opcode} without payload`, { opcode, hex: '' }),
  wrong(`4 opcode ${opcode} with payload`, { opcode, hex: 'aabbcc' }),
  wrong(`4 opcode ${opcode} after data and before a Ping`, data(5), { opcode, hex: '' }, ping()),
]);

const FRAGMENTS: readonly WebSocketCase[] = [
  wrong('5.1 a Ping in two fragments', { ...ping('01'), fin: false }, part(1, CONTINUATION, true)),
  wrong('5.2 a Pong in two fragments', { opcode: PONG, hex: '01', fin: false }),
  echo('5.3 text in two fragments', [part(7, TEXT), part(9, CONTINUATION, true)]),
  echo('5.5 two fragments in writes of a byte', [part(7, TEXT), part(9, CONTINUATION, true)], {
    chop: 1,
  }),
  ...[0, 1].map((chop) =>
    echo(
      `5.${6 + chop} a Ping between two fragments${chop === 1 ? ', in writes of a byte' : ''}`,
      [part(7, TEXT), ping('0102'), part(9, CONTINUATION, true)],
      { lastPong: '0102', chop },
    ),
  ),
  wrong('5.9 a continuation of nothing', part(5, CONTINUATION, true), data(5, TEXT)),
  wrong('5.12 a continuation of nothing that goes on', part(5, CONTINUATION), data(5, TEXT)),
  wrong('5.15 a continuation after the last', part(5, TEXT), part(5, CONTINUATION, true), {
    ...part(5, CONTINUATION),
  }),
  wrong('5.18 a message inside another', part(5, TEXT), data(5, TEXT)),
  echo('5.19 five fragments with Pings between them', [
    part(3, TEXT),
    part(4, CONTINUATION),
    ping('aa'),
    part(5, CONTINUATION),
    ping('bb'),
    part(6, CONTINUATION),
    part(7, CONTINUATION, true),
  ]),
  echo('5.20 empty fragments', [
    part(0, BINARY),
    part(0, CONTINUATION),
    part(5, CONTINUATION, true),
  ]),
];

/** Text carries bytes here (see `packages/proxy/src/transports/ws/link.ts`), so what is not UTF-8 is no error. */
const UTF8: readonly WebSocketCase[] = [
  echo('6.3 text that is not UTF-8', [
    { opcode: TEXT, hex: 'cebae1bdb9cf83cebcceb5eda080656469746564' },
  ]),
  echo('6.4 such text in fragments', [
    { opcode: TEXT, hex: 'cebae1bdb9cf83cebcceb5f4', fin: false },
    { opcode: CONTINUATION, hex: '90', fin: false },
    { opcode: CONTINUATION, hex: '8080656469746564' },
  ]),
  echo('6.6 a character in two fragments', [
    { opcode: TEXT, hex: 'cebae1', fin: false },
    { opcode: CONTINUATION, hex: 'bdb9' },
  ]),
];

const VALID_CODES = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999];
const INVALID_CODES = [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535];

const CLOSES: readonly WebSocketCase[] = [
  {
    ...closing('7.1.2 two Close frames', '03e8'),
    frames: [data(5), closeFrame('03e8'), closeFrame('03e8')],
  },
  {
    ...closing('7.1.3 a Ping after the Close frame', ''),
    frames: [data(5), closeFrame('03e8'), ping('01')],
  },
  closing('7.3.1 a Close frame without a code', ''),
  closing('7.3.2 a Close frame with half a code', '03', 1002),
  closing('7.3.3 a Close frame with a code', '03e8'),
  closing('7.3.4 a Close frame with a reason', '03e848656c6c6f'),
  closing('7.3.5 a Close frame of 125 bytes', `03e8${'2a'.repeat(123)}`),
  closing('7.3.6 a Close frame of 126 bytes', `03e8${'2a'.repeat(124)}`, 1002),
  closing('7.5.1 a reason that is not UTF-8', '03e8cebae1bdb9cf83cebcceb5eda080', 1007),
  // Any but 1000 says that the client gives up, so its flow is reset and the data may not come back.
  ...VALID_CODES.map((code) => closing(`7.7 the valid code ${code}`, code16(code), code)),
  ...INVALID_CODES.map((code) => closing(`7.9 the invalid code ${code}`, code16(code), 1002)),
];

const LENGTHS: readonly WebSocketCase[] = [
  wrong('a frame without a mask (RFC 6455 §5.1)', { ...data(5), masked: false }),
  wrong('a Ping without a mask', { ...ping('01'), masked: false }),
  wrong('a length of 5 in 16 bits (§5.2)', { ...data(5), lengthForm: '16' }),
  wrong('a length of 5 in 64 bits', { ...data(5), lengthForm: '64' }),
  wrong('a length of 300 in 64 bits', { ...data(300), lengthForm: '64' }),
  wrong('a length with the most significant bit', {
    ...data(0),
    length: 2 ** 63,
    lengthForm: '64',
  }),
];

const LARGE: readonly WebSocketCase[] = [
  ...[256 << 10, 1 << 20, 4 << 20, 16 << 20].map((size) =>
    echo(`9.2 a message of ${size >> 10} KiB`, [data(size)]),
  ),
  ...[64, 4096, 65_536].map((size) =>
    echo(`9.4 1 MiB in fragments of ${size} bytes`, [
      part(size, BINARY),
      ...Array.from({ length: (1 << 20) / size - 2 }, () => part(size, CONTINUATION)),
      part(size, CONTINUATION, true),
    ]),
  ),
  ...[64, 997, 2048].map((chop) =>
    echo(`9.6 1 MiB in writes of ${chop} bytes`, [data(1 << 20)], { chop }),
  ),
];

/** Before the client has authenticated the same frames end the connection in the same way. */
export const WRONG_FRAMES: readonly WebSocketCase[] = [
  ...PINGS,
  ...RESERVED_BITS,
  ...OPCODES,
  ...FRAGMENTS,
  ...LENGTHS,
]
  .filter(({ frames, code }) => code === 1002 && frames[0]?.size === undefined)
  .map((one) => ({ ...one, opens: false }));

export const CASES: readonly WebSocketCase[] = [
  ...FRAMING,
  ...PINGS,
  ...RESERVED_BITS,
  ...OPCODES,
  ...FRAGMENTS,
  ...UTF8,
  ...CLOSES,
  ...LENGTHS,
  ...LARGE,
];
