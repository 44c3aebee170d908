/** What the kernel shows a seccomp filter of one system call (struct seccomp_data, seccomp(2)). */
export interface SystemCall {
  readonly number: number;
  /** AUDIT_ARCH_* of <linux/audit.h>. */
  readonly arch: number;
  readonly arguments?: readonly bigint[];
}

/** For tests: runs a classic BPF program on one call and returns its verdict (SECCOMP_RET_*). */
export function runFilter(program: Buffer, call: SystemCall): number {
  const data = dataOf(call);
  let accumulator = 0;
  for (let at = 0; at < program.length; at += 8) {
    const code = program.readUInt16LE(at);
    const k = program.readUInt32LE(at + 4);
    const jump = (isTrue: boolean) => {
      at += 8 * (isTrue ? program.readUInt8(at + 2) : program.readUInt8(at + 3));
    };
    if (code === 0x20) accumulator = data.readUInt32LE(k);
    else if (code === 0x05) at += 8 * k;
    else if (code === 0x15) jump(accumulator === k);
    else if (code === 0x25) jump(accumulator > k);
    else if (code === 0x35) jump(accumulator >= k);
    else if (code === 0x45) jump((accumulator & k) !== 0);
    else if (code === 0x54) accumulator = (accumulator & k) >>> 0;
    else if (code === 0x06) return k;
    else throw new Error(`unknown instruction 0x${code.toString(16)} at ${at / 8}`);
  }
  throw new Error('the program ends without a verdict');
}

function dataOf({ number, arch, arguments: values = [] }: SystemCall): Buffer {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number >>> 0, 0);
  data.writeUInt32LE(arch, 4);
  for (const [index, value] of values.entries())
    data.writeBigUInt64LE(BigInt.asUintN(64, value), 16 + 8 * index);
  return data;
}
