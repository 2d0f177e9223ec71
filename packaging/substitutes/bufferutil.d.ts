declare module 'bufferutil/fallback.js' {
  import type { BufferUtil } from '../../src/platform/addons.ts';
  const functions: BufferUtil;
  export default functions;
}
