import type { AeadName } from '@weir/crypto/aead';

/** One published message, in hex: `sealed` is the ciphertext and then the tag. */
export interface AeadVector {
  readonly name: string;
  /** Where it was published. */
  readonly source: string;
  readonly aead: AeadName;
  readonly key: string;
  readonly nonce: string;
  readonly associated: string;
  readonly plain: string;
  readonly sealed: string;
}

const GCM = 'McGrew and Viega, The Galois/Counter Mode of Operation, appendix B (as NIST took it)';
const SUNSCREEN = Buffer.from(
  "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, " +
    'sunscreen would be it.',
).toString('hex');
const GCM_KEY = 'feffe9928665731c6d6a8f9467308308';
const GCM_NONCE = 'cafebabefacedbaddecaf888';
const GCM_PLAIN =
  'd9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72' +
  '1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255';
const GCM_ASSOCIATED = 'feedfacedeadbeeffeedfacedeadbeefabaddad2';
const zeros = (bytes: number): string => '00'.repeat(bytes);

export const AEAD_VECTORS: readonly AeadVector[] = [
  {
    name: 'AES-128, nothing at all',
    source: `${GCM}, case 1`,
    aead: 'aes-128-gcm',
    key: zeros(16),
    nonce: zeros(12),
    associated: '',
    plain: '',
    sealed: '58e2fccefa7e3061367f1d57a4e7455a',
  },
  {
    name: 'AES-128, one block of zeros',
    source: `${GCM}, case 2`,
    aead: 'aes-128-gcm',
    key: zeros(16),
    nonce: zeros(12),
    associated: '',
    plain: zeros(16),
    sealed: '0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf',
  },
  {
    name: 'AES-128, four blocks',
    source: `${GCM}, case 3`,
    aead: 'aes-128-gcm',
    key: GCM_KEY,
    nonce: GCM_NONCE,
    associated: '',
    plain: GCM_PLAIN,
    sealed:
      '42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e' +
      '21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985' +
      '4d5c2af327cd64a62cf35abd2ba6fab4',
  },
  {
    name: 'AES-128, a partial block and associated data',
    source: `${GCM}, case 4`,
    aead: 'aes-128-gcm',
    key: GCM_KEY,
    nonce: GCM_NONCE,
    associated: GCM_ASSOCIATED,
    plain: GCM_PLAIN.slice(0, 120),
    sealed:
      '42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e' +
      '21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091' +
      '5bc94fbc3221a5db94fae95ae7121a47',
  },
  {
    name: 'AES-256, nothing at all',
    source: `${GCM}, case 13`,
    aead: 'aes-256-gcm',
    key: zeros(32),
    nonce: zeros(12),
    associated: '',
    plain: '',
    sealed: '530f8afbc74536b9a963b4f1c4cb738b',
  },
  {
    name: 'AES-256, one block of zeros',
    source: `${GCM}, case 14`,
    aead: 'aes-256-gcm',
    key: zeros(32),
    nonce: zeros(12),
    associated: '',
    plain: zeros(16),
    sealed: 'cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919',
  },
  {
    name: 'AES-256, four blocks',
    source: `${GCM}, case 15`,
    aead: 'aes-256-gcm',
    key: GCM_KEY + GCM_KEY,
    nonce: GCM_NONCE,
    associated: '',
    plain: GCM_PLAIN,
    sealed:
      '522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa' +
      '8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad' +
      'b094dac5d93471bdec1a502270e3cc6c',
  },
  {
    name: 'AES-256, a partial block and associated data',
    source: `${GCM}, case 16`,
    aead: 'aes-256-gcm',
    key: GCM_KEY + GCM_KEY,
    nonce: GCM_NONCE,
    associated: GCM_ASSOCIATED,
    plain: GCM_PLAIN.slice(0, 120),
    sealed:
      '522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa' +
      '8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662' +
      '76fc6ece0f4e1768cddf8853bb2d551b',
  },
  {
    name: 'ChaCha20-Poly1305, the sunscreen',
    source: 'RFC 8439 §2.8.2',
    aead: 'chacha20-poly1305',
    key: '808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f',
    nonce: '070000004041424344454647',
    associated: '50515253c0c1c2c3c4c5c6c7',
    plain: SUNSCREEN,
    sealed:
      'd31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6' +
      '3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36' +
      '92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc' +
      '3ff4def08e4b7a9de576d26586cec64b6116' +
      '1ae10b594f09e26a7e902ecbd0600691',
  },
  {
    name: 'ChaCha20-Poly1305, the draft',
    source: 'RFC 8439 appendix A.5',
    aead: 'chacha20-poly1305',
    key: '1c9240a5eb55d38af333888604f6b5f0473917c1402b80099dca5cbc207075c0',
    nonce: '000000000102030405060708',
    associated: 'f33388860000000000004e91',
    plain:
      '496e7465726e65742d4472616674732061726520647261667420646f63756d65' +
      '6e74732076616c696420666f722061206d6178696d756d206f6620736978206d' +
      '6f6e74687320616e64206d617920626520757064617465642c207265706c6163' +
      '65642c206f72206f62736f6c65746564206279206f7468657220646f63756d65' +
      '6e747320617420616e792074696d652e20497420697320696e617070726f7072' +
      '6961746520746f2075736520496e7465726e65742d4472616674732061732072' +
      '65666572656e6365206d6174657269616c206f7220746f206369746520746865' +
      '6d206f74686572207468616e206173202fe2809c776f726b20696e2070726f67' +
      '726573732e2fe2809d',
    sealed:
      '64a0861575861af460f062c79be643bd5e805cfd345cf389f108670ac76c8cb2' +
      '4c6cfc18755d43eea09ee94e382d26b0bdb7b73c321b0100d4f03b7f355894cf' +
      '332f830e710b97ce98c8a84abd0b948114ad176e008d33bd60f982b1ff37c855' +
      '9797a06ef4f0ef61c186324e2b3506383606907b6a7c02b0f9f6157b53c867e4' +
      'b9166c767b804d46a59b5216cde7a4e99040c5a40433225ee282a1b0a06c523e' +
      'af4534d7f83fa1155b0047718cbc546a0d072b04b3564eea1b422273f548271a' +
      '0bb2316053fa76991955ebd63159434ecebb4e466dae5a1073a6727627097a10' +
      '49e617d91d361094fa68f0ff77987130305beaba2eda04df997b714d6c6f2c29' +
      'a6ad5cb4022b02709beead9d67890cbb22392336fea1851f38',
  },
  {
    name: 'XChaCha20-Poly1305, the sunscreen',
    source: 'draft-irtf-cfrg-xchacha-03 appendix A.3.1',
    aead: 'xchacha20-poly1305',
    key: '808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f',
    nonce: '404142434445464748494a4b4c4d4e4f5051525354555657',
    associated: '50515253c0c1c2c3c4c5c6c7',
    plain: SUNSCREEN,
    sealed:
      'bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb' +
      '731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b452' +
      '2f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9' +
      '21f9664c97637da9768812f615c68b13b52e' +
      'c0875924c1c7987947deafd8780acf49',
  },
];
