// ends: runtime
throw { get message() { throw 1 }, get name() { for (let i = 0; i < 10; i++); throw 2 }, toString() { throw 3 } }
