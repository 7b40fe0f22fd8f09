//! A ray tracer: 64 spheres, one light, shadows and reflections, an image of SIZE x SIZE pixels; each thread renders every
//! n-th row into an array of its own and adds its pixels to one checksum. Default 300; large: 3600 (52 MB). Seeded race: the checksum has no lock.
use common::{Arguments, Field};
use std::ops::{Add, Mul, Sub};
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;

const SEEDED: bool = cfg!(feature = "seeded_race");
const DEPTH: u32 = 4;

#[derive(Clone, Copy)]
struct Vector(f64, f64, f64);
impl Add for Vector {
    type Output = Vector;
    fn add(self, b: Vector) -> Vector {
        Vector(self.0 + b.0, self.1 + b.1, self.2 + b.2)
    }
}
impl Sub for Vector {
    type Output = Vector;
    fn sub(self, b: Vector) -> Vector {
        self + b * -1.0
    }
}
impl Mul<f64> for Vector {
    type Output = Vector;
    fn mul(self, s: f64) -> Vector {
        Vector(self.0 * s, self.1 * s, self.2 * s)
    }
}
impl Vector {
    fn dot(self, b: Vector) -> f64 {
        self.0 * b.0 + self.1 * b.1 + self.2 * b.2
    }
    fn unit(self) -> Vector {
        self * (1.0 / self.dot(self).sqrt())
    }
}

struct Surface {
    diffuse: f64,
    shine: f64,
    reflect: f64,
    colour: Vector,
}
struct Sphere {
    centre: Vector,
    radius2: f64,
    surface: Box<Surface>,
}
struct Scene {
    spheres: Vec<Box<Sphere>>,
    light: Vector,
}

impl Scene {
    fn new() -> Scene {
        let at = |i: usize| (i as f64 - 1.5) * 6.0;
        let shade = |i: usize| i as f64 / 4.0 + 0.2;
        let sphere = |i: usize| {
            let surface = Surface {
                diffuse: 0.7,
                shine: 15.0,
                reflect: 0.3,
                colour: Vector(shade(i % 4), shade(i / 4 % 4), shade(i / 16)),
            };
            Box::new(Sphere {
                centre: Vector(at(i % 4), at(i / 4 % 4), at(i / 16)),
                radius2: 6.25,
                surface: Box::new(surface),
            })
        };
        Scene {
            spheres: (0..64).map(sphere).collect(),
            light: Vector(100.0, 100.0, -50.0),
        }
    }

    fn nearest(&self, from: Vector, direction: Vector) -> Option<(&Sphere, f64)> {
        let mut best: Option<(&Sphere, f64)> = None;
        for sphere in &self.spheres {
            let to = sphere.centre - from;
            let b = to.dot(direction);
            let disc = b * b - to.dot(to) + sphere.radius2;
            if disc <= 0.0 {
                continue;
            }
            let root = disc.sqrt();
            let t = if b - root > 1e-6 { b - root } else { b + root };
            if t > 1e-6 && best.is_none_or(|(_, nearest)| t < nearest) {
                best = Some((sphere, t));
            }
        }
        best
    }

    fn trace(&self, from: Vector, direction: Vector, depth: u32) -> Vector {
        let Some((sphere, distance)) = self.nearest(from, direction) else {
            return Vector(0.0, 0.0, 0.1 + 0.1 * direction.1);
        };
        let surface = &sphere.surface;
        let point = from + direction * distance;
        let normal = (point - sphere.centre).unit();
        let to_light = (self.light - point).unit();
        let mut colour = Vector(0.0, 0.0, 0.0);
        let facing = normal.dot(to_light);
        if facing > 0.0 && self.nearest(point, to_light).is_none() {
            colour = colour + surface.colour * (facing * surface.diffuse);
            let shine = direction.dot(to_light - normal * (2.0 * facing));
            if shine > 0.0 {
                colour = colour + Vector(1.0, 1.0, 1.0) * shine.powf(surface.shine);
            }
        }
        if surface.reflect > 0.0 && depth < DEPTH {
            let mirrored = direction - normal * (2.0 * direction.dot(normal));
            colour = colour + self.trace(point, mirrored, depth + 1) * surface.reflect;
        }
        colour
    }
}

fn channel(value: f64) -> u32 {
    if value > 1.0 {
        255
    } else {
        (value * 255.0) as u32
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::read(300);
    let n = arguments.size;
    let scene = Scene::new();
    let total = Mutex::new(0_u64);
    let unlocked = Field::new([0_u64]);
    let pixels: Vec<Vec<u32>> = thread::scope(|scope| {
        let render = |me: usize| {
            let (scene, total, unlocked) = (&scene, &total, &unlocked);
            scope.spawn(move || {
                let rows = (me..n).step_by(arguments.threads).len();
                let (mut own, mut pixels) = (0, Vec::with_capacity(rows * n));
                for line in (me..n).step_by(arguments.threads) {
                    for column in 0..n {
                        let u = (column as f64 + 0.5) / n as f64 - 0.5;
                        let v = 0.5 - (line as f64 + 0.5) / n as f64;
                        let colour =
                            scene.trace(Vector(0.0, 0.0, -30.0), Vector(u, v, 1.0).unit(), 0);
                        let [red, green, blue] = [colour.0, colour.1, colour.2].map(channel);
                        pixels.push(red << 16 | green << 8 | blue);
                        own += u64::from(red + green + blue);
                    }
                }
                if SEEDED {
                    unlocked.set(0, unlocked.get(0) + own); // RACE
                } else {
                    *total.lock().unwrap() += own;
                }
                pixels
            })
        };
        let threads: Vec<_> = (0..arguments.threads).map(render).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let total = total.into_inner().unwrap();
    let bright = |pixel: u32| u64::from((pixel >> 16) + (pixel >> 8 & 255) + (pixel & 255));
    let sum: u64 = pixels.iter().flatten().map(|pixel| bright(*pixel)).sum();
    // As the C program computes it.
    let known = n != 300 || sum == 6_852_544;
    let right = sum == total && sum > 0 && known;
    arguments.end("raytracer", sum as f64, right, SEEDED)
}
