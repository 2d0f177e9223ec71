import { baselinePacketCiphers, openOpensslPacketCiphers } from '../../src/aead/packet-ciphers.ts';
import { checkedPacketCiphers } from '../../src/aead/checked.ts';
import { packetCipherConformance } from './packet-cipher.ts';

packetCipherConformance('node:crypto', baselinePacketCiphers);
packetCipherConformance('OpenSSL through koffi', openOpensslPacketCiphers());
packetCipherConformance(
  'the watched implementation',
  checkedPacketCiphers(openOpensslPacketCiphers(), baselinePacketCiphers),
);
