// A scene stepped by Bullet in ODE's place: what is in ODE's world (spheres, boxes and planes, one
// geom a body, no joints) is given to Bullet, and after each step poses and velocities are written
// back, so that whoever looks at the scene sees Bullet's.
//
// Masses, sizes, forces, gravity, step, ERP, friction and restitution are ODE's; solver (sequential
// impulses, 10 iterations), margins, split impulse and the rest are Bullet's defaults. Its numbers
// have single precision, as Debian builds it. Nothing sleeps.
#include <ode/ode.h> // has templates

extern "C" {
#include "bench.h"
#include "scene.h"
}

#include <cstdio>
#include <vector>

#include <btBulletDynamicsCommon.h>

struct bullet {
    btDefaultCollisionConfiguration configuration;
    btCollisionDispatcher dispatcher{&configuration};
    btDbvtBroadphase broadphase;
    btSequentialImpulseConstraintSolver solver;
    btDiscreteDynamicsWorld world{&dispatcher, &broadphase, &solver, &configuration};
    std::vector<btCollisionShape *> shapes;
    std::vector<btRigidBody *> bodies; // the scene's, then those without a body
    sprag_script script;               // without ODE's collision
    sprag_model scene;
};

static const sprag_scene *stepped; // whose surfaces contacts ask for

static btVector3 vector_of(const dReal *v)
{
    return btVector3(btScalar(v[0]), btScalar(v[1]), btScalar(v[2]));
}

static btCollisionShape *shape_of(dGeomID geom)
{
    if (dGeomGetClass(geom) == dSphereClass) {
        return new btSphereShape(btScalar(dGeomSphereGetRadius(geom)));
    }
    if (dGeomGetClass(geom) == dPlaneClass) {
        dVector4 plane;
        dGeomPlaneGetParams(geom, plane);
        return new btStaticPlaneShape(vector_of(plane), btScalar(plane[3]));
    }
    dVector3 side;
    dGeomBoxGetLengths(geom, side);
    return new btBoxShape(vector_of(side) / 2);
}

static btTransform pose_of(dGeomID geom)
{
    dQuaternion q;
    if (dGeomGetClass(geom) == dPlaneClass) {
        return btTransform::getIdentity();
    }
    dGeomGetQuaternion(geom, q);
    btQuaternion turn{btScalar(q[1]), btScalar(q[2]), btScalar(q[3]), btScalar(q[0])};
    return btTransform(turn, vector_of(dGeomGetPosition(geom)));
}

static void add(bullet *b, dGeomID geom)
{
    btVector3 inertia(0, 0, 0);
    dMass mass = {};
    if (dGeomGetBody(geom)) {
        dBodyGetMass(dGeomGetBody(geom), &mass);
    }
    btCollisionShape *shape = shape_of(geom);
    if (mass.mass > 0) {
        shape->calculateLocalInertia(btScalar(mass.mass), inertia);
    }
    auto *body = new btRigidBody(
        btRigidBody::btRigidBodyConstructionInfo(btScalar(mass.mass), nullptr, shape, inertia));
    body->setWorldTransform(pose_of(geom));
    body->setActivationState(DISABLE_DEACTIVATION);
    body->setCollisionFlags(body->getCollisionFlags() |
                            btCollisionObject::CF_CUSTOM_MATERIAL_CALLBACK);
    body->setUserPointer(geom);
    b->world.addRigidBody(body);
    b->shapes.push_back(shape);
    b->bodies.push_back(body);
}

static bool set_surface(btManifoldPoint &point, const btCollisionObjectWrapper *first, int, int,
                        const btCollisionObjectWrapper *second, int, int)
{
    auto *a = static_cast<dGeomID>(first->getCollisionObject()->getUserPointer());
    auto *b = static_cast<dGeomID>(second->getCollisionObject()->getUserPointer());
    dSurfaceParameters surface = bench_surface(stepped, a, b);
    point.m_combinedFriction = btScalar(surface.mu);
    point.m_combinedRestitution = btScalar(surface.mode & dContactBounce ? surface.bounce : 0);
    return true;
}

bool bench_has_bullet()
{
    return true;
}

void bench_bullet_print_version()
{
    std::printf("# Bullet %d.%02d\n", btGetVersion() / 100, btGetVersion() % 100);
}

void bench_bullet_open(bench_scene *s)
{
    sprag_scene *scene = &s->scene;
    auto *b = new bullet;
    b->world.getSolverInfo().m_erp2 = btScalar(dWorldGetERP(scene->world));
    for (int i = 0; i < scene->bodies; i++) {
        add(b, dBodyGetFirstGeom(scene->body[i]));
    }
    for (int i = 0; i < dSpaceGetNumGeoms(scene->space); i++) {
        dGeomID geom = dSpaceGetGeom(scene->space, i);
        if (!dGeomGetBody(geom)) {
            add(b, geom);
        }
    }
    b->script = *scene->model->script;
    b->script.contacts = 0;
    b->scene = *scene->model;
    b->scene.script = &b->script;
    scene->model = &b->scene;
    gContactAddedCallback = set_surface;
    s->bullet = b;
}

// The forces of the program are those of one step.
static void give_forces(const bullet *b, const sprag_scene *scene)
{
    for (int i = 0; i < scene->bodies; i++) {
        btRigidBody *to = b->bodies[size_t(i)];
        to->applyCentralForce(vector_of(dBodyGetForce(scene->body[i])));
        to->applyTorque(vector_of(dBodyGetTorque(scene->body[i])));
        dBodySetForce(scene->body[i], 0, 0, 0);
        dBodySetTorque(scene->body[i], 0, 0, 0);
    }
}

static void write_state(const bullet *b, const sprag_scene *scene)
{
    for (int i = 0; i < scene->bodies; i++) {
        const btRigidBody *from = b->bodies[size_t(i)];
        const btTransform &at = from->getWorldTransform();
        const btQuaternion turn = at.getRotation();
        const dQuaternion q = {turn.w(), turn.x(), turn.y(), turn.z()};
        const btVector3 &x = at.getOrigin(), &v = from->getLinearVelocity(),
                        &w = from->getAngularVelocity();
        dBodySetPosition(scene->body[i], x.x(), x.y(), x.z());
        dBodySetQuaternion(scene->body[i], q);
        dBodySetLinearVel(scene->body[i], v.x(), v.y(), v.z());
        dBodySetAngularVel(scene->body[i], w.x(), w.y(), w.z());
    }
}

void bench_bullet_step(bench_scene *s)
{
    bullet *b = s->bullet;
    sprag_scene *scene = &s->scene;
    dVector3 gravity;
    dWorldGetGravity(scene->world, gravity);
    b->world.setGravity(vector_of(gravity));
    stepped = scene;
    give_forces(b, scene);
    double start = bench_cpu_us();
    b->world.stepSimulation(btScalar(scene->step), 0);
    bench_stepper_us = bench_cpu_us() - start;
    scene->touching = 0;
    for (int i = 0; i < b->dispatcher.getNumManifolds(); i++) {
        scene->touching += b->dispatcher.getManifoldByIndexInternal(i)->getNumContacts();
    }
    write_state(b, scene);
}

void bench_bullet_close(bench_scene *s)
{
    bullet *b = s->bullet;
    for (size_t i = 0; b && i < b->bodies.size(); i++) {
        b->world.removeRigidBody(b->bodies[i]);
        delete b->bodies[i];
        delete b->shapes[i];
    }
    delete b;
    s->bullet = nullptr;
}
