import { once } from 'node:events';
import { Duplex } from 'node:stream';
import { connect, type ConnectionOptions } from 'node:tls';

/**
 * First flights of `openssl s_client` 3.0.22, as captured from a socket: with `-servername
 * Example.COM`, with `-servername tls12.example.org -tls1_2`, and with `-noservername`.
 */
export const OPENSSL = {
  tls13: Buffer.from(
    '16030101380100013403034200f38d30b38d45f594a3fc6b53086f87a6d0e14a434f640a3cd93b9c0398542055bb17' +
      'f5e8681488b3ff29e4e901d1efbf5ba10c375b1ccec6df272967f5bda0003e130213031301c02cc030009fcca9cc' +
      'a8ccaac02bc02f009ec024c028006bc023c0270067c00ac0140039c009c0130033009d009c003d003c0035002f00' +
      'ff010000ad00000010000e00000b4578616d706c652e434f4d000b000403000102000a00160014001d0017001e00' +
      '19001801000101010201030104002300000016000000170000000d002a0028040305030603080708080809080a08' +
      '0b080408050806040105010601030303010302040205020602002b0009080304030303020301002d000201010033' +
      '00260024001d0020fd8ecd41259a6e5059a29096e77c96299e1a08192fdedc783e91cf2093d58240',
    'hex',
  ),
  tls12: Buffer.from(
    '16030100d1010000cd03038921266a3d1d748baa2b4fa3d6e676fcf56ce922d0b463783840e7b0116ac41e000038c0' +
      '2cc030009fcca9cca8ccaac02bc02f009ec024c028006bc023c0270067c00ac0140039c009c0130033009d009c00' +
      '3d003c0035002f00ff0100006c000000160014000011746c7331322e6578616d706c652e6f7267000b0004030001' +
      '02000a000c000a001d0017001e00190018002300000016000000170000000d002a00280403050306030807080808' +
      '09080a080b080408050806040105010601030303010302040205020602',
    'hex',
  ),
  noName: Buffer.from(
    '160301012401000120030326b9fdc6e7a8ff14b040fecd5f8f0f21f8d23c18f04d333d8963bad6e972b69920bd3693' +
      'f7831c7c706e3fe959772c0bddfab7f7ac6f0f1963d2f3b1a534680748003e130213031301c02cc030009fcca9cc' +
      'a8ccaac02bc02f009ec024c028006bc023c0270067c00ac0140039c009c0130033009d009c003d003c0035002f00' +
      'ff01000099000b000403000102000a00160014001d0017001e001900180100010101020103010400230000001600' +
      '0000170000000d002a0028040305030603080708080809080a080b08040805080604010501060103030301030204' +
      '0205020602002b0009080304030303020301002d00020101003300260024001d0020472dc138fb7feac3617c2354' +
      '648a0e7927af7d2015e78299fe7f36f21b21ad78',
    'hex',
  ),
};

/** The first flight of this Node's own TLS client. */
export async function nodeClientHello(options: ConnectionOptions): Promise<Buffer> {
  const wire = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      this.emit('captured', chunk);
      done();
    },
  });
  const captured = once(wire, 'captured');
  const socket = connect({ ...options, socket: wire });
  socket.on('error', () => undefined); // it is destroyed in the middle of its handshake
  const [hello] = (await captured) as [Buffer];
  socket.destroy();
  return hello;
}

/** Cuts the handshake message of one record into records of at most `size` bytes. */
export function refragment(record: Buffer, size: number): Buffer {
  const message = record.subarray(5);
  const pieces: Buffer[] = [];
  for (let at = 0; at < message.length; at += size) {
    const piece = message.subarray(at, at + size);
    const header = Buffer.from([22, 3, 1, 0, 0]);
    header.writeUInt16BE(piece.length, 3);
    pieces.push(header, piece);
  }
  return Buffer.concat(pieces);
}
