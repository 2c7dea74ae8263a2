// expect: worker-exit exception
return new Uint8Array(2 ** 40).length;
