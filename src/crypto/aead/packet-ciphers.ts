import { baselinePacketCiphers } from './baseline-packet-cipher.ts';
import { checkedPacketCiphers } from './checked-packet-cipher.ts';
import { chooseBackend } from '../choose-backend.ts';
import { openOpensslPacketCiphers } from './openssl-packet-cipher.ts';
import type { PacketCipherBackend } from './packet-cipher-contract.ts';
import { packetCiphersAgree } from './packet-cipher-self-test.ts';

export {
  MASK_BATCH,
  MASK_LENGTH,
  type HeaderMasks,
  type PacketCipherName,
  type PacketOpening,
  type PacketSealing,
} from './packet-cipher-contract.ts';

/** Selects the implementation of packet ciphers of this process; see `chooseBackend`. */
export const choosePacketCiphers = (wish = process.env['WEIR_CRYPTO']): PacketCipherBackend =>
  chooseBackend(
    {
      baseline: baselinePacketCiphers,
      open: openOpensslPacketCiphers,
      agrees: packetCiphersAgree,
      checked: checkedPacketCiphers,
    },
    wish,
  );

/** Selected when the first packet is processed, so that commands without packets do not load it. */
let chosen: PacketCipherBackend | undefined;

/** Returns the implementation of packet ciphers that this process uses. */
export const packetCiphers = (): PacketCipherBackend => (chosen ??= choosePacketCiphers());
