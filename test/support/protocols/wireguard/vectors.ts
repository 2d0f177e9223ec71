/*
 * Handshakes with fixed keys, computed from the whitepaper by a program of its own: Python 3 with hashlib
 * (BLAKE2s, plain and keyed), hmac, and X25519 and ChaCha20-Poly1305 of `cryptography` 48; HChaCha20 checked
 * against draft-irtf-cfrg-xchacha §2.2.1. Keys: 32 times 0x11 and 0x22 (static) and 0x33 and 0x44
 * (ephemeral) of the initiator and the responder; pre-shared: 0x77; indices below; the cookie's secret 32
 * times 0x55, its nonce 24 times 0x66, its address 192.0.2.1:51820. `data` is the initiator's message with
 * counter 7 and the bytes 0 to 31.
 */

export const INITIATOR_INDEX = 0x0403_0201;
export const RESPONDER_INDEX = 0x8877_6655;
export const TIMESTAMP = '400000006955b90a1e000000';

export interface HandshakeVector {
  readonly presharedKey: string | undefined;
  readonly initiation: string;
  readonly response: string;
  readonly initiators: string;
  readonly responders: string;
  readonly cookieReply: string;
  readonly mac2: string;
  readonly data: string;
}

export const HANDSHAKES: readonly HandshakeVector[] = [
  {
    presharedKey: undefined,
    initiation:
      '01000000010203047b0d47d93427f8311160781c7c733fd89f88970aef490d8aa0ee19a4cb8a1b1481e49831' +
      '7da959fba46669572516a5e6c021bfa620bb6c56ca0082e1feae14988c2c64d024c617734a263f76a008df04' +
      'd0f94bad82e116c8ffc269558cd09605a2d7bb6308db09dfc2f788adde3cccd76397adb243ae6562441a9188' +
      '00000000000000000000000000000000',
    response:
      '020000005566778801020304ff2ee45601ec1b67310c7790404585ae697331eee1c1f8cf2419731c1fff3e6b' +
      'a99ccc4d9a340658fb0ee3ccea1120d9389d6de1efd75659effdd9a359b2de91000000000000000000000000' +
      '00000000',
    initiators: 'e07b709efbfd0361a08a9de658ceb3847d648c207ed71d4dbdfe248bef23a651',
    responders: 'f76ba55a113d83abf16240859ca361a9017ae9fbac0b4aa43179112c40e0163f',
    cookieReply:
      '03000000010203046666666666666666666666666666666666666666666666665c04cbe32e37dc859bbac70f' +
      '8c13f2ae2fbf2d201ff44113cd6243aa0a37e126',
    mac2: '9bb721914f397ed5f2521113cd94f875',
    data:
      '04000000556677880700000000000000987b299d9523b1610b4af786a93835930c35eaadd3c926cbf15cc08d' +
      '0e364cdc268515db987304709fcac359ccf89644',
  },
  {
    presharedKey: '77'.repeat(32),
    initiation:
      '01000000010203047b0d47d93427f8311160781c7c733fd89f88970aef490d8aa0ee19a4cb8a1b1481e49831' +
      '7da959fba46669572516a5e6c021bfa620bb6c56ca0082e1feae14988c2c64d024c617734a263f76a008df04' +
      'd0f94bad82e116c8ffc269558cd09605a2d7bb6308db09dfc2f788adde3cccd76397adb243ae6562441a9188' +
      '00000000000000000000000000000000',
    response:
      '020000005566778801020304ff2ee45601ec1b67310c7790404585ae697331eee1c1f8cf2419731c1fff3e6b' +
      '80fed97a06c789f8e008ac9ea5b26bc3246e0124e4dd4efb5b59ed12c825314b000000000000000000000000' +
      '00000000',
    initiators: 'aaff7ff98e493ba75aa491ca7c08fd0f6d9bfd11d772d4f580c5bd21ac509e27',
    responders: '16a394292c729dd7bbc70ef065786f7ca50b327e5e8ac7fa1512c62cf9c37031',
    cookieReply:
      '03000000010203046666666666666666666666666666666666666666666666665c04cbe32e37dc859bbac70f' +
      '8c13f2ae2fbf2d201ff44113cd6243aa0a37e126',
    mac2: '9bb721914f397ed5f2521113cd94f875',
    data:
      '0400000055667788070000000000000028a4ebe525e1956ee1a1cb022b368eb12414406c75c6f2a2a667832b' +
      '40209455fa869ec2bd8c5e915908f4f70f17b8b8',
  },
];

/** WireGuard/wireguard-go device/kdf_test.go: key, input, and the three outputs of KDF3. */
export const KDF_VECTORS = [
  [
    '746573742d6b6579',
    '746573742d696e707574',
    '6f0e5ad38daba1bea8a0d213688736f19763239305e0f58aba697f9ffc41c633',
    'df1194df20802a4fe594cde27e92991c8cae66c366e8106aaa937a55fa371e8a',
    'fac6e2745a325f5dc5d11a5b165aad08b0ada28e7b4e666b7c077934a4d76c24',
  ],
  [
    '776972656775617264',
    '776972656775617264',
    '491d43bbfdaa8750aaf535e334ecbfe5129967cd64635101c566d4caefda96e8',
    '1e71a379baefd8a79aa4662212fcafe19a23e2b609a3db7d6bcba8f560e3d25f',
    '31e1ae48bddfbe5de38f295e5452b1909a1b4e38e183926af3780b0c1e1f0160',
  ],
  [
    '',
    '',
    '8387b46bf43eccfcf349552a095d8315c4055beb90208fb1be23b894bc2ed5d0',
    '58a0e5f6faefccf4807bff1f05fa8a9217945762040bcec2f4b4a62bdfe0e86e',
    '0ce6ea98ec548f8e281e93e32db65621c45eb18dc6f0a7ad94178610a2f7338e',
  ],
] as const;
