import fc from 'fast-check';
import { FrameDecoder, FrameError, MAX_FRAME_BYTES, encodeFrame } from '../../plugin/link/frame';

describe('control frames', () => {
  it('come out as they went in, however the stream is cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ minLength: 1, maxLength: 200 }), { minLength: 1, maxLength: 8 }),
        fc.array(fc.nat(50), { maxLength: 60 }),
        (bodies, cuts) => {
          const texts = bodies.map((body) => Buffer.from(body).toString('latin1'));
          const stream = Buffer.concat(texts.map(encodeFrame));
          const decoder = new FrameDecoder();
          const got: string[] = [];
          let at = 0;
          for (const cut of [...cuts, stream.length]) {
            const end = Math.min(stream.length, at + cut);
            for (const frame of decoder.push(stream.subarray(at, end))) got.push(frame.toString('latin1'));
            at = end;
          }
          expect(got).toEqual(texts);
        },
      ),
    );
  });

  it.each([
    ['no digits', '#abc'],
    ['a letter', '1x#abc'],
    ['zero', '0#'],
    ['a sign', '-3#abc'],
    ['too many digits without an end', '12345678'],
    ['more than the limit', `${MAX_FRAME_BYTES + 1}#a`],
  ])('with a bad length are refused: %s', (_name, text) => {
    expect(() => new FrameDecoder().push(Buffer.from(text))).toThrow(FrameError);
  });

  it('cost linear time when a large one comes in small pieces', () => {
    const stream = encodeFrame('x'.repeat(MAX_FRAME_BYTES - 1));
    const decoder = new FrameDecoder();
    let frames: Buffer[] = [];
    const start = performance.now();
    for (let at = 0; at < stream.length; at += 100) frames = decoder.push(stream.subarray(at, at + 100));
    expect(frames).toHaveLength(1);
    expect(performance.now() - start).toBeLessThan(2000);
  });
});
