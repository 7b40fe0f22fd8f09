//! A job for tokio: `tokio-job [THREADS [MESSAGES]]`. Tasks send messages through channels to workers that share a table behind a
//! lock; clients talk to an echo server over TCP on the loopback interface.
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc, oneshot};

type Error = Box<dyn std::error::Error + Send + Sync>;

const CLIENTS: u64 = 8;

/// Senders → one queue → a worker → an answer for each message.
async fn channels(messages: u64) -> Result<u64, Error> {
    let (sender, mut queue) = mpsc::channel::<(u64, oneshot::Sender<u64>)>(64);
    let table = Arc::new(Mutex::new(BTreeMap::<u64, u64>::new()));
    let shared = table.clone();
    let worker = tokio::spawn(async move {
        while let Some((number, answer)) = queue.recv().await {
            let shared = shared.clone();
            tokio::spawn(async move {
                let mut table = shared.lock().await;
                *table.entry(number % 101).or_default() += number;
                // Who asked may be gone.
                let _ = answer.send(number * 2);
            });
        }
    });
    let mut tasks = Vec::new();
    for task in 0..CLIENTS {
        let sender = sender.clone();
        tasks.push(tokio::spawn(async move {
            let mut sum = 0;
            for i in 0..messages / CLIENTS {
                let (answer, asked) = oneshot::channel();
                sender.send((i * CLIENTS + task, answer)).await?;
                sum += asked.await?;
            }
            Ok::<u64, Error>(sum)
        }));
    }
    drop(sender);
    let mut sum = 0;
    for task in tasks {
        sum += task.await??;
    }
    worker.await?;
    let table = table.lock().await;
    Ok(sum + table.values().sum::<u64>())
}

async fn serve(listener: TcpListener) -> Result<(), Error> {
    for _ in 0..CLIENTS {
        let (mut stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            let mut buffer = [0; 64];
            while stream.read_exact(&mut buffer).await.is_ok() {
                buffer.reverse();
                if stream.write_all(&buffer).await.is_err() {
                    return;
                }
            }
        });
    }
    Ok(())
}

async fn echo(rounds: u64) -> Result<u64, Error> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = tokio::spawn(serve(listener));
    let mut clients = Vec::new();
    for client in 0..CLIENTS {
        clients.push(tokio::spawn(async move {
            let mut stream = TcpStream::connect(address).await?;
            let mut sum = 0;
            for round in 0..rounds {
                let mut message = [0_u8; 64];
                message[0] = (client + round) as u8;
                stream.write_all(&message).await?;
                stream.read_exact(&mut message).await?;
                sum += u64::from(message[63]);
            }
            Ok::<u64, Error>(sum)
        }));
    }
    let mut sum = 0;
    for client in clients {
        sum += client.await??;
    }
    server.await??;
    Ok(sum)
}

fn main() -> Result<(), Error> {
    let mut words = std::env::args().skip(1);
    let threads: usize = words.next().map_or(Ok(4), |word| word.parse())?;
    let messages: u64 = words.next().map_or(Ok(20_000), |word| word.parse())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_io()
        .build()?;
    let (sum, echoed) =
        runtime.block_on(async { tokio::try_join!(channels(messages), echo(messages / 40)) })?;
    println!("channels {sum}, echo {echoed}");
    Ok(())
}
