import { baselinePacketCiphers } from '../../src/crypto/aead/baseline-packet-cipher.ts';
import { checkedPacketCiphers } from '../../src/crypto/aead/checked.ts';
import { openOpensslPacketCiphers } from '../../src/crypto/aead/packet-ciphers.ts';
import { packetCipherConformance } from './packet-cipher.ts';

packetCipherConformance('node:crypto', baselinePacketCiphers);
packetCipherConformance('OpenSSL through koffi', openOpensslPacketCiphers());
packetCipherConformance(
  'the watched implementation',
  checkedPacketCiphers(openOpensslPacketCiphers(), baselinePacketCiphers),
);
