declare module 'bufferutil/fallback.js' {
  import type { BufferUtil } from '../../packages/io/src/platform/addons.ts';
  const functions: BufferUtil;
  export default functions;
}
