// expect: worker-exit exception
return new ArrayBuffer(2 ** 33).byteLength;
